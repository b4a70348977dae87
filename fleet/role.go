package fleet

import "time"

// candidacy is for a role that at most one node of the fleet has, such as that of the
// sender of alerts.
type candidacy struct {
	role   string
	until  time.Time // this node has it
	nextAt time.Time // when to ask again
	quit   bool
}

const (
	roleTTL   = 15 * time.Second
	roleEvery = 5 * time.Second
	// roleMargin is how much sooner than the store this node takes it for lost.
	roleMargin = 2 * time.Second
)

// seek has this node try to get the role, and keep it.
func (c *coordinator) seek(name string) {
	if i := c.roleAt(name); i < 0 {
		c.roles = append(c.roles, &candidacy{role: name})
	} else {
		c.roles[i].quit = false
	}
}

// quit gives it up.
func (c *coordinator) quit(name string, now time.Time) {
	if i := c.roleAt(name); i >= 0 {
		c.roles[i].quit, c.roles[i].until, c.roles[i].nextAt = true, time.Time{}, now
	}
}

// holds reports whether this node has it for certain.
func (c *coordinator) holds(name string, now time.Time) bool {
	i := c.roleAt(name)
	return i >= 0 && now.Before(c.roles[i].until)
}

func (c *coordinator) roleAt(name string) int {
	for i, r := range c.roles {
		if r.role == name {
			return i
		}
	}
	return -1
}

// elect asks for the roles that are due.
func (c *coordinator) elect(now time.Time) *op {
	for _, r := range c.roles {
		if now.Before(r.nextAt) {
			continue
		}
		r.nextAt = now.Add(roleEvery)
		o := &op{kind: opElect, key: r.role, ttl: roleTTL}
		if r.quit {
			o.ttl = 0
		}
		return o
	}
	return nil
}

func (c *coordinator) elected(o *op) {
	i := c.roleAt(o.key)
	switch {
	case i < 0:
	case c.roles[i].quit:
		if o.ttl == 0 {
			c.roles = append(c.roles[:i:i], c.roles[i+1:]...)
		}
	case o.holder == c.cfg.Node:
		c.roles[i].until = o.asked.Add(roleTTL - roleMargin)
	default:
		c.roles[i].until = time.Time{}
	}
}
