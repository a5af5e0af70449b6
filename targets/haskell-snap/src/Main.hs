{-# LANGUAGE OverloadedStrings #-}

-- | An echo server on Snap and websockets.
module Main (main) where

import Control.Applicative ((<|>))
import Control.Concurrent.Async (race_)
import Control.Concurrent.MVar (newEmptyMVar, takeMVar, tryPutMVar)
import Control.Monad (forever, void)
import qualified Data.ByteString.Char8 as ByteString
import Data.Maybe (fromMaybe)
import qualified Network.WebSockets as WebSockets
import Snap.Core (MonadSnap, Snap, ifTop, method, Method (GET), path, writeBS)
import Snap.Http.Server
import System.Environment (lookupEnv)
import System.Posix.Signals (Handler (Catch), installHandler, sigINT, sigTERM)

import Clients (Clients)
import qualified Clients
import Upgrade (upgrade)

main :: IO ()
main = do
    host <- fromMaybe "127.0.0.1" <$> lookupEnv "HOST"
    port <- maybe 3334 read <$> lookupEnv "PORT"
    clients <- Clients.new
    stopSignal <- onStopSignal
    -- Goodbyes come first: the end of the server closes its connections.
    race_ (stopSignal >> Clients.closeAll clients) (httpServe (config host port) (site clients))

-- | Nothing is logged but errors, and those go to stdout.
config :: MonadSnap m => String -> Int -> Config m a
config host port =
    setBind (ByteString.pack host)
        . setPort port
        . setAccessLog ConfigNoLog
        . setErrorLog (ConfigIoLog ByteString.putStrLn)
        . setVerbose False
        $ emptyConfig

site :: Clients -> Snap ()
site clients = ifTop (method GET (writeBS "")) <|> path "ws" (upgrade options (echo clients))

options :: WebSockets.ConnectionOptions
options =
    WebSockets.defaultConnectionOptions
        { WebSockets.connectionFramePayloadSizeLimit = limit
        , WebSockets.connectionMessageDataSizeLimit = limit
        , WebSockets.connectionStrictUnicode = True
        }
  where
    limit = WebSockets.SizeLimit (16 * 1024 * 1024)

-- | Sends back whatever comes, text or binary, until the client leaves.
echo :: Clients -> WebSockets.ServerApp
echo clients pending = do
    connection <- WebSockets.acceptRequest pending
    Clients.with clients connection . forever $
        WebSockets.receiveDataMessage connection >>= WebSockets.sendDataMessage connection

-- | An action that waits for SIGTERM or SIGINT.
onStopSignal :: IO (IO ())
onStopSignal = do
    stopped <- newEmptyMVar
    let handler = Catch (void (tryPutMVar stopped ()))
    mapM_ (\signal -> installHandler signal handler Nothing) [sigTERM, sigINT]
    pure (takeMVar stopped)
