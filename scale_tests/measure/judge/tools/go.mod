// Porcupine, which judges whether histories are linearizable; see ../linearizable.py.
module partisan.dev/scale_tests/measure/judge/tools

go 1.26.0

require github.com/anishathalye/porcupine v1.3.1
