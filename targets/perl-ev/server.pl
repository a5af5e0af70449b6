# An echo and broadcast server on EV, IO::Stream and Protocol::WebSocket.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use EV;
use IO::Socket::INET;
use IO::Stream;
use Socket qw(IPPROTO_TCP TCP_NODELAY);

use Client;

use constant BACKLOG       => 4096;
use constant CLOSE_GRACE_S => 1;

my $listener = IO::Socket::INET->new(
    LocalAddr => $ENV{HOST} // '127.0.0.1',
    LocalPort => $ENV{PORT} // 3334,
    Listen    => BACKLOG,
    ReuseAddr => 1,
    Blocking  => 0,
) or die "cannot listen: $@\n";

my $accepting = EV::io $listener, EV::READ, sub {
    while (my $socket = $listener->accept) {
        $socket->blocking(0);
        $socket->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1);
        IO::Stream->new({ fh => $socket, cb => Client->new, wait_for => IN | EOF });
    }
};

# Says goodbye to everyone and waits until they have left, at most as long as the grace.
my @waiting;
my @stopping = map { EV::signal $_, \&stop } qw(TERM INT);

sub stop {
    undef $accepting;
    close $listener;
    Client->close_all;
    push @waiting, EV::timer(CLOSE_GRACE_S, 0, sub { EV::break }),
        EV::timer(0, 0.01, sub { EV::break unless Client->count });
}

EV::run;
