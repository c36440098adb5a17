#!/bin/bash
# Run a command on two hosts, which are network namespaces with a cable between them; for test_two_hosts.py.
#
#     unshare --map-root-user --net --mount --uts --pid --fork --kill-child two_hosts.sh HOSTS COMMAND...
#
# HOSTS is a file for /etc/hosts. The command runs on host0, 10.77.0.1, and on host1, 10.77.0.2.
set -e
mount --bind "$1" /etc/hosts
mount -t proc proc /proc
shift
hostname host0
ip link set lo up
ip link add cable0 type veth peer name cable1
unshare --net --uts bash -ec '
    hostname host1
    until ip link show cable1 >/dev/null 2>&1; do sleep 0.05; done
    ip link set lo up
    ip addr add 10.77.0.2/24 dev cable1
    ip link set cable1 up
    exec "$@"' host1 "$@" &
other=$!
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link set cable1 netns $other
ip addr add 10.77.0.1/24 dev cable0
ip link set cable0 up
"$@"
wait $other
