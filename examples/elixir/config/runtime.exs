# The configuration of a node outside Kubernetes: `bin/greeter start` with these variables. In a pod
# the operator's configuration is used instead, and this file is not read.
import Config

{:ok, ip} =
  "NODE_IP" |> System.fetch_env!() |> String.to_charlist() |> :inet.parse_strict_address()

config :partisan,
  name: System.fetch_env!("NODE_NAME"),
  cluster: "greeters",
  token: System.fetch_env!("CLUSTER_TOKEN"),
  host: ip,
  listen_ip: ip,
  overlay: {:hyparview, %{}},
  seeds: [],
  discovery: %{file: System.fetch_env!("NODES_FILE")}

config :greeter, members: "MEMBERS" |> System.fetch_env!() |> String.split(",")
