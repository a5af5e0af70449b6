package Client;

# One connection: a request, which is answered or becomes a WebSocket, and then its messages.

use strict;
use warnings;

use IO::Stream;
use Protocol::WebSocket::Frame;
use Protocol::WebSocket::Handshake::Server;

use Protocol qw(broadcast_result);

use constant MESSAGE_BYTES_MAX => 16 * 1024 * 1024;
use constant REQUEST_BYTES_MAX => 16 * 1024;

use constant { TEXT => 1, BINARY => 2, CLOSE => 8, PING => 9, PONG => 10 };
use constant { GOING_AWAY => 1001, PROTOCOL_ERROR => 1002 };

# Everyone whose handshake is done: the stream's number to the stream.
my %streams;

sub new {
    my ($class) = @_;
    return bless {}, $class;
}

sub count { return scalar keys %streams }

sub close_all {
    $_->write(frame(CLOSE, pack 'n', GOING_AWAY)) for values %streams;
    return;
}

# What IO::Stream calls: something was read, the other side has closed, or the connection is broken.
sub IO {
    my ($self, $stream, $event, $error) = @_;
    if ($event & IN) {
        # What follows a handshake in the same segment are frames already.
        $self->handle_request($stream) unless $self->{frames};
        $self->handle_frames($stream) if $self->{frames};
    }
    hang_up($stream) if $error || $event & EOF;
    return;
}

sub handle_request {
    my ($self, $stream) = @_;
    while ($stream->{in_buf} =~ s/\A(.*?\r\n\r\n)//s) {
        my $request = $1;
        return $self->handle_upgrade($stream, $request) if $request =~ /^Upgrade:\s*websocket/mi;
        my $status = $request =~ m{\AGET / HTTP} ? '200 OK' : '404 Not Found';
        $stream->write("HTTP/1.1 $status\r\nContent-Length: 0\r\n\r\n");
    }
    hang_up($stream) if length $stream->{in_buf} > REQUEST_BYTES_MAX;
    return;
}

sub handle_upgrade {
    my ($self, $stream, $request) = @_;
    my $handshake = Protocol::WebSocket::Handshake::Server->new;
    if (!$handshake->parse($request) || !$handshake->is_done || $handshake->req->resource_name ne '/ws') {
        $stream->write("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        return hang_up($stream);
    }
    $self->{frames} = Protocol::WebSocket::Frame->new(max_payload_size => MESSAGE_BYTES_MAX);
    $streams{$stream} = $stream;
    $stream->write($handshake->to_string);
    return;
}

sub handle_frames {
    my ($self, $stream) = @_;
    my $frames = $self->{frames};
    $frames->append($stream->{in_buf});    # Takes it.
    # After a close frame nothing is listened to.
    while ($streams{$stream} && defined(my $message = eval { $frames->next_bytes })) {
        $self->handle_message($stream, $frames->opcode, $message);
    }
    if ($@) {
        $stream->write(frame(CLOSE, pack 'n', PROTOCOL_ERROR));
        hang_up($stream);
    }
    return;
}

sub handle_message {
    my ($self, $stream, $kind, $message) = @_;
    if ($kind == TEXT || $kind == BINARY) {
        my $result = broadcast_result($message, $kind == BINARY);
        if (defined $result) {
            my $copy = frame($kind, $message);    # Framed once for all.
            $_->write($copy) for values %streams;
        }
        $stream->write(frame($kind, $result // $message));
    }
    elsif ($kind == PING) {
        $stream->write(frame(PONG, $message));
    }
    elsif ($kind == CLOSE) {
        $stream->write(frame(CLOSE, $message));
        hang_up($stream);
    }
    return;
}

sub hang_up {
    my ($stream) = @_;
    delete $streams{$stream};
    $stream->close;
    return;
}

sub frame {
    my ($kind, $payload) = @_;
    my $frame = Protocol::WebSocket::Frame->new(buffer => $payload, max_payload_size => 0);
    $frame->opcode($kind);
    return $frame->to_bytes;
}

1;
