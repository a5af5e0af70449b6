# frozen_string_literal: true

require "csv"

# Who may log in: the rows of users.csv, in place of a table.
User = Struct.new(:id, :password) do
  def self.find(id)
    all[id]
  end

  def self.authenticate(name, password)
    user = find(name)
    user if user && ActiveSupport::SecurityUtils.secure_compare(user.password, password.to_s)
  end

  def self.all
    @all ||= CSV.foreach(Rails.root.join("users.csv"), headers: true).to_h do |row|
      [row["name"], new(row["name"], row["password"])]
    end
  end
end
