# frozen_string_literal: true

class ApplicationController < ActionController::Base
  protect_from_forgery with: :exception
  before_action :require_login
  helper_method :current_user

  private

  def current_user
    @current_user ||= User.find(session[:user_id])
  end

  def require_login
    redirect_to new_session_path unless current_user
  end
end
