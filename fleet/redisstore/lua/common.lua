-- What the scripts have in common. Times are microseconds of the server's clock,
-- as a float holds them exactly until the year 2255.

local function now()
	local t = redis.call('TIME')
	return t[1] * 1000000 + t[2]
end

local function digits(n)
	return string.format('%.0f', n)
end

-- A document is kept as "epoch id put ends slots data": when it was put, and when
-- it vanishes, or 0. document returns it unless it has vanished, with its version
-- "epoch id", its end and its slots.
local function document(docs, key, t)
	local value = redis.call('HGET', docs, key)
	if not value then
		return nil, ''
	end
	local rev, ends, slots = string.match(value, '^(%x+ %x+) %d+ (%d+) (%d+) ')
	if not rev then
		return value, 'not ours' -- and the client says so, when it reads the value
	end
	ends = tonumber(ends)
	if ends > 0 and ends <= t then
		return nil, ''
	end
	return value, rev, ends, tonumber(slots)
end

-- log_change appends the change of a document to the log, and returns its place. A
-- place holds a random number, so that none comes twice even if the store went back
-- in time: who knows one that is not there knows that it did.
local function log_change(log, key, random, t)
	local ms = math.floor(t / 1000)
	local last = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
	if last then
		ms = math.max(ms, tonumber(string.match(last[1], '^%d+')) + 1)
	end
	local place = digits(ms) .. '-' .. random
	redis.call('XADD', log, 'MAXLEN', '~', 1000, place, 'key', key)
	return place
end

-- settle counts the trials of a document's version: a hash with the counts "good"
-- and "bad", and of each lease that runs its end. One that ran out becomes bad.
local function settle(trials, t)
	local good, bad, running, lapsed = 0, 0, 0, 0
	local all = redis.call('HGETALL', trials)
	for i = 1, #all, 2 do
		local n = tonumber(all[i + 1])
		if all[i] == 'good' then
			good = n
		elseif all[i] == 'bad' then
			bad = n
		elseif n <= t then
			redis.call('HDEL', trials, all[i])
			lapsed = lapsed + 1
		else
			running = running + 1
		end
	end
	if lapsed > 0 then
		bad = redis.call('HINCRBY', trials, 'bad', lapsed)
	end
	return good, bad, running
end
