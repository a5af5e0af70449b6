%% Says that the server is there: 200 and an empty body.
-module(home_handler).
-behaviour(cowboy_handler).

-export([init/2]).

init(Request, State) ->
    {ok, cowboy_req:reply(200, Request), State}.
