{-# LANGUAGE ScopedTypeVariables #-}

-- | From a request of Snap to a connection of websockets, for which Debian has no package.
module Upgrade (upgrade) where

import Control.Exception (Handler (Handler), IOException, catches)
import Data.ByteString.Builder (lazyByteString)
import Data.ByteString.Builder.Extra (flush)
import Network.WebSockets (ConnectionException, ConnectionOptions, HandshakeException, RequestHead (..), ServerApp)
import Network.WebSockets.Connection (PendingConnection (..))
import qualified Network.WebSockets.Stream as Stream
import Snap.Core (Request, Snap, escapeHttp, getRequest, listHeaders, rqIsSecure, rqURI)
import qualified System.IO.Streams as Streams

-- | Runs the application on the connection that the request came through.
upgrade :: ConnectionOptions -> ServerApp -> Snap ()
upgrade options application = do
    request <- getRequest
    escapeHttp $ \setTimeout input output -> do
        setTimeout (const aYear)
        stream <- Stream.makeStream (Streams.read input) (flip Streams.write output . fmap build)
        run stream (PendingConnection options (requestHead request) (const (pure ())) stream)
  where
    aYear = 365 * 24 * 60 * 60
    -- What was written must not wait in a buffer.
    build bytes = lazyByteString bytes <> flush
    run stream pending =
        application pending `catches` endings >> Stream.close stream
    -- How a connection ends: nobody is at fault whom a log would help.
    endings =
        [ Handler (\(_ :: ConnectionException) -> pure ())
        , Handler (\(_ :: HandshakeException) -> pure ())
        , Handler (\(_ :: IOException) -> pure ())
        ]

requestHead :: Request -> RequestHead
requestHead request =
    RequestHead
        { requestPath = rqURI request
        , requestHeaders = listHeaders request
        , requestSecure = rqIsSecure request
        }
