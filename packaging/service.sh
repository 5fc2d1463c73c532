#!/bin/sh
# What `make install` and `make uninstall` do about terraced on the machine itself, besides files:
#
#     service.sh installed FILE    makes the group that FILE of sysusers.d names
#     service.sh stop              stops and disables terraced and terraced-web
#     service.sh removed           removes the group, and says what is left
set -eu

is_running() {
    [ -d /run/systemd/system ]
}

case $1 in
installed)
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers "$2"
    else
        echo "install: there is no systemd-sysusers; make the group yourself: groupadd --system terrace" >&2
    fi
    ! is_running || systemctl daemon-reload
    ;;
stop)
    command -v systemctl >/dev/null || exit 0
    for unit in terraced-web terraced; do
        case $(systemctl is-enabled "$unit" 2>/dev/null) in
        '' | not-found) continue ;;
        esac
        systemctl --quiet disable "$unit"
        ! is_running || systemctl stop "$unit"
    done
    ;;
removed)
    if is_running; then
        systemctl daemon-reload
        # One that had failed would be listed for ever.
        systemctl reset-failed terraced terraced-web 2>/dev/null || true
    fi
    case $(getent group terrace) in
    '') ;;
    *:) groupdel terrace ;;
    *) echo "uninstall: the group terrace has members, and stays" >&2 ;;
    esac
    rmdir /etc/terrace 2>/dev/null || true
    for file in /etc/terrace/*.toml /var/lib/terrace/budget.json; do
        [ ! -e "$file" ] || echo "uninstall: $file stays" >&2
    done
    rmdir /var/lib/terrace 2>/dev/null || true
    ;;
esac
