%% The listeners: the server on TCP and, if there is a path for it, on a unix socket; the figures on a port of their own.
%% Set by the environment: HOST, PORT, SOCKET, ADMIN_PORT, TLS_CERT, TLS_KEY.
-module(bench_app).
-behaviour(application).

-export([start/2, prep_stop/1, stop/1]).

-define(CLOSE_GRACE_MS, 1000).

start(_Type, _Args) ->
    {ok, Supervisor} = bench_sup:start_link(),
    Host = os:getenv("HOST", "127.0.0.1"),
    {ok, Ip} = inet:parse_address(Host),
    Port = list_to_integer(os:getenv("PORT", "3334")),
    listen(tcp, [{ip, Ip}, {port, Port} | certificate()], server_routes()),
    case os:getenv("SOCKET") of
        false ->
            ok;
        Path ->
            _ = file:delete(Path),
            listen(unix, [{ip, {local, Path}}, {port, 0}], server_routes())
    end,
    case os:getenv("ADMIN_PORT") of
        false ->
            ok;
        AdminPort ->
            _ = erlang:system_flag(microstate_accounting, true),
            listen(admin, [{ip, Ip}, {port, list_to_integer(AdminPort)}], [{"/metrics", metrics_handler, []}])
    end,
    {ok, Supervisor}.

%% Before the listeners go: clients are told, and have a moment to leave.
prep_stop(State) ->
    [ok = ranch:suspend_listener(Name) || Name <- maps:keys(ranch:info())],
    bench_clients:close_all(?CLOSE_GRACE_MS),
    State.

stop(_State) ->
    [ok = cowboy:stop_listener(Name) || Name <- maps:keys(ranch:info())],
    case os:getenv("SOCKET") of
        false -> ok;
        Path -> file:delete(Path)
    end.

listen(Name, SocketOptions, Routes) ->
    Transport = #{max_connections => infinity, socket_opts => [{backlog, 4096} | SocketOptions]},
    Protocol = #{
        env => #{dispatch => cowboy_router:compile([{'_', Routes}])},
        idle_timeout => infinity,
        max_keepalive => infinity
    },
    case proplists:is_defined(certfile, SocketOptions) of
        true -> {ok, _} = cowboy:start_tls(Name, Transport, Protocol);
        false -> {ok, _} = cowboy:start_clear(Name, Transport, Protocol)
    end.

%% What to speak TLS with, if there is one.
certificate() ->
    case os:getenv("TLS_CERT") of
        false -> [];
        File -> [{certfile, File}, {keyfile, os:getenv("TLS_KEY")}]
    end.

server_routes() ->
    [{"/", home_handler, []}, {"/ws", ws_handler, []}].
