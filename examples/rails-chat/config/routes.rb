# frozen_string_literal: true

Rails.application.routes.draw do
  root to: redirect("/rooms/0")
  resource :session, only: %i[new create destroy]
  resources :rooms, only: :show
  get "seen" => "rooms#seen"
  get "lines" => "rooms#lines"
end
