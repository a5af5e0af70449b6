%% The processes of all open WebSockets, in a table: joining and leaving does not pass through one process.
-module(bench_clients).

-export([create/0, add/1, remove/1, broadcast/1, close_all/1]).

create() ->
    ?MODULE = ets:new(?MODULE, [named_table, public, {write_concurrency, true}, {read_concurrency, true}]),
    ok.

add(Client) ->
    true = ets:insert(?MODULE, {Client}),
    ok.

remove(Client) ->
    true = ets:delete(?MODULE, Client),
    ok.

%% Sends everyone the frame; its bytes are shared, not copied.
broadcast(Frame) ->
    ets:foldl(fun({Client}, ok) -> Client ! {broadcast, Frame}, ok end, ok, ?MODULE).

%% Asks everyone to leave and waits until they have, at most so long.
close_all(GraceMs) ->
    Monitors = [ask_to_leave(Client) || {Client} <- ets:tab2list(?MODULE)],
    Timer = erlang:start_timer(GraceMs, self(), grace_is_over),
    await(Monitors, Timer).

ask_to_leave(Client) ->
    Monitor = monitor(process, Client),
    Client ! going_away,
    Monitor.

await([], Timer) ->
    _ = erlang:cancel_timer(Timer),
    ok;
await([Monitor | Others], Timer) ->
    receive
        {'DOWN', Monitor, process, _, _} -> await(Others, Timer);
        {timeout, Timer, grace_is_over} -> ok
    end.
