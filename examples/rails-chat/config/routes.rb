# frozen_string_literal: true

Rails.application.routes.draw do
  root to: "rooms#index"
  resource :session, only: %i[new create destroy]
  resources :rooms, only: :show
  get "chats/:id" => "rooms#chat", as: :chat
  get "seen" => "rooms#seen"
  get "lines" => "rooms#lines"
  # Action Cable's own client; with Sprockets, it would be an asset.
  mount Rack::Files.new(ActionCable::Engine.root.join("app/assets/javascripts").to_s), at: "/assets"
end
