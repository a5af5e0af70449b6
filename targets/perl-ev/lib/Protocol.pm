package Protocol;

# websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is
# the answer to a message that belongs to neither. Only a broadcast has to be told apart.

use strict;
use warnings;

use Exporter qw(import);
use JSON::XS ();

our @EXPORT_OK = qw(broadcast_result);

# The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
use constant HEADER_BYTES => 5;
use constant TIME_BYTES   => 8;

my $json = JSON::XS->new->utf8->allow_nonref->canonical;

# What the sender of a broadcast gets besides its own copy, or undef if the message is no broadcast.
sub broadcast_result {
    my ($message, $is_binary) = @_;
    return $is_binary ? binary_result($message) : text_result($message);
}

sub binary_result {
    my ($message) = @_;
    return if length $message < HEADER_BYTES + TIME_BYTES;
    my ($type, $size) = unpack 'aN', $message;
    return if $type ne 'b' || $size != length($message) - HEADER_BYTES;
    return 'r' . substr $message, 1;
}

sub text_result {
    my ($text) = @_;
    # Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    return if $text !~ /\A\{/;
    my $message = eval { $json->decode($text) } or return;
    return if ($message->{type} // '') ne 'broadcast';
    return '{"type":"broadcastResult","payload":' . $json->encode($message->{payload}) . '}';
}

1;
