package scenario

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/recloser-go/recloser/internal/defaults"
)

// Name is the file's name without its folder and ending.
func (r *Result) Name() string {
	return strings.TrimSuffix(filepath.Base(r.File), filepath.Ext(r.File))
}

// WriteText writes results for people: a line for each scenario, below it each
// line that is not as expected, and a summary. Why a scenario was not played is
// not told, only that it was not.
func WriteText(w io.Writer, results []*Result) error {
	var b strings.Builder
	width := 0
	for _, r := range results {
		width = max(width, len(r.Name()))
	}
	good, unplayed, expectations := 0, 0, 0
	var virtual time.Duration
	for _, r := range results {
		mark := "ok  "
		if r.Good() {
			good++
		} else {
			mark = "FAIL"
		}
		if r.Err != nil {
			unplayed++
			fmt.Fprintf(&b, "%s  %-*s  (not played)\n", mark, width, r.Name())
			continue
		}
		expectations += r.Expectations
		virtual += r.Virtual
		fmt.Fprintf(&b, "%s  %-*s  (%s, %s of virtual time)\n", mark, width, r.Name(), counted(r.Expectations, "expectation"), rounded(r.Virtual))
		for i, f := range r.Failures {
			if i == 0 {
				b.WriteByte('\n')
			}
			b.WriteString(f.text(r.File))
		}
	}
	if len(results) > 1 || good < len(results) {
		fmt.Fprintf(&b, "%d of %s good", good, counted(len(results), "scenario"))
		if unplayed > 0 {
			fmt.Fprintf(&b, ", %d not played", unplayed)
		}
		fmt.Fprintf(&b, ": %s, %s of virtual time\n", counted(expectations, "expectation"), rounded(virtual))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Failure) text(file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s:%d, at %s\n      %s\n", file, f.Line, defaults.Short(f.At), f.Text)
	for _, m := range f.Mismatches {
		fmt.Fprintf(&b, "  want     %s\n  seen     %s\n", m.Want, m.Seen)
	}
	fmt.Fprintf(&b, "  breaker  %s\n\n", f.Explain)
	return b.String()
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// rounded writes a duration as far as people care.
func rounded(d time.Duration) string {
	unit := time.Millisecond
	if d > time.Minute {
		unit = time.Second
	}
	return defaults.Short(d.Round(unit))
}

type jsonReport struct {
	Good      int            `json:"good"`
	Failed    int            `json:"failed"`
	Scenarios []jsonScenario `json:"scenarios"`
}

type jsonScenario struct {
	File           string        `json:"file"`
	Name           string        `json:"name"`
	Good           bool          `json:"good"`
	Error          string        `json:"error,omitempty"`
	Expectations   int           `json:"expectations"`
	Calls          int           `json:"calls"`
	VirtualSeconds float64       `json:"virtual_seconds"`
	Failures       []jsonFailure `json:"failures"`
}

type jsonFailure struct {
	Line       int            `json:"line"`
	AtSeconds  float64        `json:"at_seconds"`
	Text       string         `json:"text"`
	Mismatches []jsonMismatch `json:"mismatches"`
	Explain    string         `json:"explain"`
}

type jsonMismatch struct {
	Want string `json:"want"`
	Seen string `json:"seen"`
}

// WriteJSON writes results as one object. The same results are written the same
// way each time. A scenario that was not played has failed, with an error.
func WriteJSON(w io.Writer, results []*Result) error {
	report := jsonReport{Scenarios: []jsonScenario{}}
	for _, r := range results {
		s := jsonScenario{
			File: r.File, Name: r.Name(), Good: r.Good(), Expectations: r.Expectations, Calls: r.Calls,
			VirtualSeconds: r.Virtual.Seconds(), Failures: []jsonFailure{},
		}
		if s.Good {
			report.Good++
		} else {
			report.Failed++
		}
		if r.Err != nil {
			s.Error = r.Err.Error()
		}
		for _, f := range r.Failures {
			j := jsonFailure{Line: f.Line, AtSeconds: f.At.Seconds(), Text: f.Text, Explain: f.Explain}
			for _, m := range f.Mismatches {
				j.Mismatches = append(j.Mismatches, jsonMismatch{m.Want, m.Seen})
			}
			s.Failures = append(s.Failures, j)
		}
		report.Scenarios = append(report.Scenarios, s)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     float64     `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr"`
	Time    float64       `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Error   *junitFailure `xml:"error"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes results as JUnit XML, which most systems of continuous
// integration read. Times are those that the run took. A scenario that was not
// played is an error, not a failure.
func WriteJUnit(w io.Writer, results []*Result) error {
	suite := junitSuite{Name: "recloser test", Tests: len(results)}
	for _, r := range results {
		c := junitCase{Class: filepath.ToSlash(filepath.Dir(r.File)), Name: r.Name(), File: filepath.ToSlash(r.File), Time: seconds(r.Took)}
		suite.Time += c.Time
		switch {
		case r.Err != nil:
			suite.Errors++
			text := r.Err.Error()
			message, _, _ := strings.Cut(text, "\n")
			c.Error = &junitFailure{Message: message, Text: text}
		case !r.Good():
			suite.Failures++
			first := r.Failures[0]
			c.Failure = &junitFailure{
				Message: fmt.Sprintf("line %d: want %s, seen %s", first.Line, first.Mismatches[0].Want, first.Mismatches[0].Seen),
			}
			for _, f := range r.Failures {
				c.Failure.Text += f.text(r.File)
			}
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = math.Round(1000*suite.Time) / 1000
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// seconds writes a duration as JUnit has it, exact to a millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
