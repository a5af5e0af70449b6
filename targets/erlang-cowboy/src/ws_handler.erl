%% Echoes whatever comes, text or binary, and answers both message forms of websocket-bench. An echo needs no decoding:
%% its answer is the message itself. Only a broadcast has to be told apart.
-module(ws_handler).
-behaviour(cowboy_websocket).

-export([init/2, websocket_init/1, websocket_handle/2, websocket_info/2, terminate/3]).

-define(MESSAGE_BYTES_MAX, 16 * 1024 * 1024).

init(Request, State) ->
    {cowboy_websocket, Request, State, #{idle_timeout => infinity, max_frame_size => ?MESSAGE_BYTES_MAX}}.

websocket_init(State) ->
    bench_clients:add(self()),
    {ok, State}.

websocket_handle({Kind, _} = Frame, State) when Kind =:= text; Kind =:= binary ->
    case broadcast_result(Frame) of
        none ->
            {[Frame], State};
        Result ->
            bench_clients:broadcast(Frame),
            {[Result], State}
    end;
websocket_handle(_PingOrPong, State) ->
    {[], State}.

websocket_info({broadcast, Frame}, State) ->
    {[Frame], State};
websocket_info(going_away, State) ->
    {[{close, 1001, <<>>}], State};
websocket_info(_Other, State) ->
    {[], State}.

terminate(_Reason, _Request, _State) ->
    bench_clients:remove(self()).

%% What the sender of a broadcast gets besides its own copy, or none if the message is no broadcast.
broadcast_result({text, <<"{", _/binary>> = Text}) ->
    try jsx:decode(Text, [{return_maps, false}]) of
        Message ->
            case lists:keyfind(<<"type">>, 1, Message) of
                {_, <<"broadcast">>} ->
                    Type = {<<"type">>, <<"broadcastResult">>},
                    {text, jsx:encode(lists:keyreplace(<<"type">>, 1, Message, Type))};
                _ ->
                    none
            end
    catch
        error:badarg -> none
    end;
%% The type, the size of the rest as a big-endian u32, unix nanoseconds, padding.
broadcast_result({binary, <<$b, Size:32, _Time:64, Padding/binary>> = Message}) when Size =:= 8 + byte_size(Padding) ->
    <<$b, Rest/binary>> = Message,
    {binary, <<$r, Rest/binary>>};
broadcast_result(_Frame) ->
    none.
