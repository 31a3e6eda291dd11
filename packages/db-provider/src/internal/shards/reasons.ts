/** Why a shard is not Ready, or not gone. */
import * as Disposition from "@berth/provisioners/Disposition"

export const Reasons = Disposition.vocabulary("shard_check", {
  name_unknown: Disposition.transient(
    "The name {host} of {shard} does not resolve: correct {part}.host, or see to the DNS that the provider asks."
  ),
  connection_refused: Disposition.transient(
    "Nothing takes connections on {host}, port {port}, of {shard}: see whether the server runs, and correct {part} if it is elsewhere."
  ),
  no_answer: Disposition.transient(
    "{host}, port {port}, of {shard} does not answer: see to the server, and to network policies and firewalls before it."
  ),
  not_serving: Disposition.transient("The server of {shard} starts, stops or recovers, and lets nobody in yet."),
  too_many_connections: Disposition.transient(
    "The server of {shard} has no connection left for the provider: end sessions, or raise max_connections."
  ),
  no_tls: Disposition.transient(
    "The server on {host} of {shard} does not speak TLS: turn it on there, or set {part}.sslmode to disable."
  ),
  certificate_untrusted: Disposition.transient(
    "The certificate of {host} of {shard} is of an authority that is not trusted: put the certificate of that authority into {part}.caBundle."
  ),
  certificate_name: Disposition.transient(
    "The certificate of {host} of {shard} is for other names: correct {part}.host or the certificate, or set {part}.sslmode to verify-ca."
  ),
  certificate_expired: Disposition.transient(
    "The certificate of {host} of {shard} has expired, or is not valid yet: renew it."
  ),
  password_refused: Disposition.transient(
    "The server of {shard} refuses the password of {role}, or does not know that role: correct the Secret {secret}, or run what bootstrap-sql prints."
  ),
  role_refused: Disposition.transient(
    "The server of {shard} does not let {role} in: the role is not there or may not log in, or pg_hba.conf has no line for it."
  ),
  database_missing: Disposition.transient(
    "The server of {shard} has no database {database}: correct primary.database."
  ),
  connect_missing: Disposition.transient(
    "{role} may not connect to the database {database} of {shard}: grant CONNECT on it, or correct primary.database."
  ),
  not_prepared: Disposition.transient(
    "The server of {shard} lacks what the provider needs ({findings}): preflight says what to run."
  ),
  standby: Disposition.transient("The server of {shard} is a standby: primary has to name the primary."),
  same_server: Disposition.transient(
    "{shard} is the same server as {shards}, whose places it would count twice: no new databases are placed here. Delete this Shard when its databases are gone, or correct primary."
  ),
  pooler: Disposition.transient("The pooler in front of {shard} does not work as the Shard says ({findings})."),
  isolation_violated: Disposition.transient(
    "Tenants of {shard} are not kept apart: one can get to {databases}. No new databases are placed there."
  ),
  held_by_databases: Disposition.yield("Kept until these databases are gone: {databases}.")
})
