# The same on a kernel that does not tell the pressure of groups: waits at faults are measured, with what the unit
# lets terraced do.
# machine: -m 1G -action reboot=reset
# parameters: init=/lib/systemd/systemd kept=/dev/vda psi=0
. "$(dirname "$0")/daemon.sh"
