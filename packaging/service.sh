#!/bin/sh
# What `make install` and `make uninstall` do about terraced on the machine itself, besides files:
#
#     service.sh installed FILE     makes the group that FILE of sysusers.d names
#     service.sh removing UNITS     stops and disables what has its units in the directory UNITS, removes the
#                                   group, and says what is left
#     service.sh removed            has systemd forget the units
set -eu

reload() {
    [ ! -d /run/systemd/system ] || systemctl daemon-reload
}

# Works also where systemd does not run.
stop() {
    command -v systemctl >/dev/null || return 0
    systemctl --quiet disable "$1"
    [ -d /run/systemd/system ] || return 0
    systemctl stop "$1"
    # One that has failed would be listed for ever; others have nothing to be reset.
    systemctl reset-failed "$1" 2>/dev/null || true
}

case $1 in
installed)
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers "$2"
    else
        echo "install: there is no systemd-sysusers; make the group yourself: groupadd --system terrace" >&2
    fi
    reload
    ;;
removing)
    # Those of another installation go on.
    [ -e "$2/terraced.service" ] || exit 0
    # Its socket would start it again.
    [ ! -e "$2/terraced-web.socket" ] || stop terraced-web.socket
    stop terraced-web
    stop terraced
    # What is in the tier comes back to DRAM.
    stop terraced-tier
    case $(getent group terrace) in
    '') ;;
    *:) groupdel terrace ;;
    *) echo "uninstall: the group terrace has members, and stays" >&2 ;;
    esac
    for file in /etc/terrace/*.toml /var/lib/terrace/budget.json; do
        [ ! -e "$file" ] || echo "uninstall: $file stays" >&2
    done
    # Made by systemd for terraced.
    rmdir /etc/terrace /var/lib/terrace 2>/dev/null || true
    ;;
removed)
    reload
    ;;
esac
