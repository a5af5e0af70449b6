%% Supervises nothing but owns the table of clients: the processes themselves are Ranch's.
-module(bench_sup).
-behaviour(supervisor).

-export([start_link/0, init/1]).

start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

init([]) ->
    bench_clients:create(),
    {ok, {#{}, []}}.
