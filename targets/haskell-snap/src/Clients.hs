-- | The open connections.
module Clients (Clients, new, with, closeAll) where

import Control.Concurrent (threadDelay)
import Control.Exception (SomeException, bracket, try)
import Control.Monad (forM_, void)
import Data.IORef (IORef, atomicModifyIORef', newIORef, readIORef)
import Data.Map.Strict (Map)
import qualified Data.Map.Strict as Map
import qualified Data.Text as Text
import Data.Unique (Unique, newUnique)
import Network.WebSockets (Connection, sendCloseCode)

newtype Clients = Clients (IORef (Map Unique Connection))

new :: IO Clients
new = Clients <$> newIORef Map.empty

-- | Counts the connection among the open ones while the action runs.
with :: Clients -> Connection -> IO a -> IO a
with (Clients clients) connection action = bracket enter leave (const action)
  where
    enter = do
        key <- newUnique
        modify (Map.insert key connection)
        pure key
    leave = modify . Map.delete
    modify change = atomicModifyIORef' clients (\open -> (change open, ()))

-- | Says goodbye to every client and waits until they have left, at most a second.
closeAll :: Clients -> IO ()
closeAll (Clients clients) = do
    open <- readIORef clients
    forM_ open $ \connection -> void (try (sendCloseCode connection goingAway Text.empty) :: IO (Either SomeException ()))
    await (100 :: Int)
  where
    goingAway = 1001
    await tries = do
        open <- readIORef clients
        if Map.null open || tries == 0 then pure () else threadDelay 10000 >> await (tries - 1)
