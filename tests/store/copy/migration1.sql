-- SQL that both SQLite and PostgreSQL accept. Times are Unix milliseconds. Booleans are 1 and 0. Lists
-- and objects are JSON text. Numbers from servers are bigint: they may have up to 53 bits.

create table scans (
  id text primary key,
  kind text not null,                     -- sweep, watch
  state text not null,                    -- running, finished, interrupted, failed
  started_at bigint not null,
  finished_at bigint,
  shards integer not null,                -- number of shards of the target space
  config text not null,                   -- the options as JSON, without passwords
  probes_sent bigint not null default 0,
  replies bigint not null default 0,
  found bigint not null default 0
);

-- Completed shards of a scan.
create table scan_shards (
  scan_id text not null references scans (id),
  shard integer not null,
  done_at bigint not null,
  probes_sent bigint not null,
  replies bigint not null,
  primary key (scan_id, shard)
);

-- One row per server: its last reply and its state.
create table servers (
  id text primary key,                    -- host:port or [v6]:port
  addr bigint,                            -- an IPv4 address as a number; null for IPv6
  host text not null,
  port integer not null,
  protocol text not null,                 -- empty: the server never replied
  protocols text not null,
  edition text,
  software text,
  name text,
  motd text,
  motd_plain text,
  version text,
  protocol_version bigint,
  map text,
  gamemode text,
  players_online bigint,
  players_max bigint,
  players text,
  plugins text,
  guid text,
  port_v4 bigint,
  port_v6 bigint,
  latency_ms double precision,
  flags text not null,
  extras text,
  software_confidence text,
  proxy text,
  alias_of text,
  requested_as text,
  joinable integer,
  mtu bigint,
  raknet_protocol bigint,
  favicon_hash text,
  last_scan text,                         -- the scan with the last reply
  content_hash text,                      -- changes when the content changes, except players
  online integer not null,
  failures integer not null,              -- scans or polls in a row without a reply
  first_seen bigint not null,
  last_seen bigint not null,              -- time of the last probe, with or without a reply
  last_online bigint                      -- time of the last reply
);

create index servers_list on servers (online desc, (coalesce(players_online, -1)) desc, id);
create index servers_host on servers (host);
create index servers_addr on servers (addr, id);
create index servers_due on servers (last_seen);

-- One row per server and scan, or per server and poll of a watch.
create table observations (
  scan_id text not null,
  server_id text not null,
  round integer not null,                 -- number of the poll in a watch; 0 in a scan
  seen_at bigint not null,
  online integer not null,                -- whether the server replied
  players_online bigint,
  players_max bigint,
  latency_ms double precision,
  content_hash text,
  primary key (scan_id, server_id, round)
);

create index observations_history on observations (server_id, seen_at);
