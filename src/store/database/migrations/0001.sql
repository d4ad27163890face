-- What SQLite and PostgreSQL both understand. Times are Unix milliseconds; yes and no are 1 and 0;
-- lists and facts are JSON text; numbers that strangers choose are bigint, for they fill 53 bits.

create table scans (
  id text primary key,
  kind text not null,                     -- sweep
  state text not null,                    -- running, finished, interrupted, failed
  started_at bigint not null,
  finished_at bigint,
  shards integer not null,                -- how many parts the whole has
  config text not null,                   -- the options, without passwords
  probes_sent bigint not null default 0,
  replies bigint not null default 0,
  found bigint not null default 0
);

-- Parts of a scan that have been asked to their end.
create table scan_shards (
  scan_id text not null references scans (id),
  shard integer not null,
  done_at bigint not null,
  probes_sent bigint not null,
  replies bigint not null,
  primary key (scan_id, shard)
);

-- One row a server, as it was when it last answered.
create table servers (
  id text primary key,                    -- host:port or [v6]:port
  addr bigint,                            -- an IPv4 address as a number
  host text not null,
  port integer not null,
  protocol text not null,                 -- empty: it never answered
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
  last_scan text,                         -- the scan in which it last answered
  content_hash text,                      -- changes with what it says of itself, players apart
  online integer not null,
  failures integer not null,              -- how often in a row it did not answer
  first_seen bigint not null,
  last_seen bigint not null,              -- when it was last asked, whether it answered or not
  last_online bigint                      -- when it last answered
);

create index servers_list on servers (online desc, (coalesce(players_online, -1)) desc, id);
create index servers_host on servers (host);
create index servers_addr on servers (addr, id);
create index servers_due on servers (last_seen);

-- What was seen of a server, each time that it was asked.
create table observations (
  scan_id text not null,
  server_id text not null,
  round integer not null,                 -- 0 in a scan
  seen_at bigint not null,
  online integer not null,                -- whether it answered
  players_online bigint,
  players_max bigint,
  latency_ms double precision,
  content_hash text,
  primary key (scan_id, server_id, round)
);

create index observations_history on observations (server_id, seen_at);
