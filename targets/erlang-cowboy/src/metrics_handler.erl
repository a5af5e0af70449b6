%% Microstate accounting, what the emulator's threads have spent their time on, in Prometheus' text format and under the
%% names that prometheus.erl gives it: counters in seconds, by type and number of the thread.
-module(metrics_handler).
-behaviour(cowboy_handler).

-export([init/2]).

%% msacc:stats/0 counts in microseconds.
-define(PER_SECOND, 1000000).

init(Request, State) ->
    Headers = #{<<"content-type">> => <<"text/plain; version=0.0.4">>},
    {ok, cowboy_req:reply(200, Headers, metrics(), Request), State}.

metrics() ->
    Threads = msacc:stats(),
    States = lists:sort(maps:keys(maps:get(counters, hd(Threads)))),
    [metric(State, Threads) || State <- States].

metric(State, Threads) ->
    Name = ["erlang_vm_msacc_", atom_to_list(State), "_seconds_total"],
    Samples = [
        io_lib:format("~s{type=\"~s\",id=\"~b\"} ~.6f~n", [Name, Type, Id, maps:get(State, Counters) / ?PER_SECOND])
     || #{type := Type, id := Id, counters := Counters} <- Threads
    ],
    ["# TYPE ", Name, " counter\n", Samples].
