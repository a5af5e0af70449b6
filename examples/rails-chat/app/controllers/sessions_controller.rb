# frozen_string_literal: true

class SessionsController < ApplicationController
  skip_before_action :require_login, only: %i[new create]

  def new; end

  def create
    if (user = User.authenticate(params[:name], params[:password]))
      reset_session
      session[:user_id] = user.id
      redirect_to root_path
    else
      render :new, status: :unauthorized
    end
  end

  def destroy
    reset_session
    redirect_to new_session_path
  end
end
