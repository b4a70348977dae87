package httpbreaker

import "syscall"

// shortages has the numbers of Winsock: those that syscall gives such names to
// are inventions, which no call returns.
func shortages() []syscall.Errno {
	const wsaEMFILE, wsaEADDRNOTAVAIL, wsaENOBUFS = 10024, 10049, 10055
	return []syscall.Errno{wsaEMFILE, wsaEADDRNOTAVAIL, wsaENOBUFS}
}
