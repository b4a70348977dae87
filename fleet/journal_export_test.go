package fleet

// What tests of stores need of them, which cannot be in this package as they use storetest.
type (
	Disk = disk
	File = file
)

const SnapshotAt = snapshotAt

func OpenJournalOn(path string, d Disk) (*Journal, error) { return openJournal(path, d) }

// Rows returns how many rows the store holds, and be it that they ran out.
func (m *Memory) Rows() (n int) {
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	for _, byNode := range m.shared.rows {
		n += len(byNode)
	}
	return n
}

// Share returns another client of the journal.
func (j *Journal) Share() Store { return j.Store.(*Memory).Share() }

// Line returns a line of a journal for d.
func Line(d Doc, put int64) string {
	e := entryOf(&doc{Doc: d})
	e.Put = put
	return string(appendLine(nil, e))
}

// HeadLine returns the first line of a journal of a schema.
func HeadLine(schema int) string { return string(appendLine(nil, entry{Schema: schema})) }
