-- The tables of blocksweep in SQLite, schema version 7. docs/database.md explains them.
-- postgres.sql has the same tables and columns, except address_sort. Times are Unix milliseconds,
-- booleans 1 and 0, lists and objects JSON text.

-- The version of the schema: one row.
create table blocksweep_schema (
  version integer not null,               -- 7; versions 1 to 6 had other tables
  identity text not null                  -- the identity of the database, hexadecimal; a copy has the same
) strict;

-- One row per scan or watch, and per scan whose identity was in imported rows.
create table scans (
  id integer primary key,                 -- number of the scan, used in other tables
  uuid text not null unique,              -- the scan's identity, UUIDv7
  kind text not null,                     -- sweep, watch, import (known from imported rows)
  state text not null,                    -- running, finished, interrupted, failed
  started_at integer,                     -- null: unknown, because the scan was imported
  finished_at integer,                    -- end
  shards integer not null default 1,      -- number of shards of the target space
  config text not null default '{}',      -- the options, without passwords
  probes_sent integer not null default 0, -- UDP probes and TCP connection attempts; polls of a watch
  replies integer not null default 0,     -- replies to probes or polls
  found integer not null default 0,       -- servers written; servers online at the end of a watch
  heartbeat_at integer,                   -- last write of these numbers; null: unknown
  runs integer not null default 1,        -- number of runs: 1, and one more for each resume
  position integer not null default 0,    -- number of visited positions, in all passes; 0 for a watch
  total integer not null default 0,       -- number of positions in all passes that are known so far
  ends_at integer,                        -- expected end; null: unknown
  packet_loss real,                       -- estimated share of lost probes, 0 to 1; null: unknown
  rows_lost integer not null default 0,   -- rows that could not be written
  rate integer,                           -- rate that --rate auto has found, packets a second; null: not searched
  rate_reason text                        -- reason for the rate: loss, buffers, sender, limit, searching, unknown
) strict;

-- Completed shards of a scan.
create table scan_shards (
  scan integer not null references scans (id),-- scans.id
  shard integer not null,                 -- number of the shard, from 1
  done_at integer not null,               -- when the shard was completed
  probes_sent integer not null,           -- scans.probes_sent of the shard
  replies integer not null,               -- scans.replies of the shard
  primary key (scan, shard)
) strict, without rowid;

-- The addresses that the user named as targets of a scan, merged, and those of them that it does
-- not probe.
create table scan_ranges (
  scan integer not null,                  -- scans.id
  excluded integer not null,              -- whether the addresses are not probed
  first text not null,                    -- first address
  last text not null,                     -- last address
  widened integer not null,               -- whether the range may contain addresses outside the original ranges
  noted_at integer not null,              -- when the scan began to use the range
  primary key (scan, excluded, first)
) strict, without rowid;

-- Servers that replied to a scan that has not finished. Emptied when the scan finishes.
create table scan_servers (
  scan integer not null,                  -- scans.id
  server integer not null,                -- servers.id
  primary key (scan, server)
) strict, without rowid;

-- One row per server, with the values that rarely change. server_state has the others.
create table servers (
  id integer primary key,                 -- number of the server, used in other tables
  key text not null unique,               -- what a user types: 192.0.2.1:25565, [2001:db8::1]:19132,
                                          -- play.example.org:25565, play.example.org (SRV record)
  hostname text,                          -- the name in the key, lower case, A-labels; null: none
  is_srv integer not null,                -- whether an SRV record of the name led to the server
  address text not null,                  -- the last address; it may change if the server has a hostname
  address_sort text not null,             -- the address in a form that sorts by number
  scope text,                             -- zone of a link-local address; null: none
  port integer not null,                  -- the last port
  protocol text not null,                 -- the protocol of the highest rank; empty: never replied
  protocols text not null,                -- all protocols of the last reply: a list of text
  edition text,                           -- bedrock, education, pocket or java
  software text,                          -- server software, and its version if published
  software_key text,                      -- start of software in lower case, for searches
  name text,                              -- the server's own name
  name_key text not null,                 -- start of the folded name, for sorting; empty: no name
  motd text,                              -- MOTD as sent
  motd_plain text,                        -- MOTD without formatting codes
  version text,                           -- game version, as the server writes it
  version_key text not null,              -- sorts 1.9 before 1.21; empty: no version
  protocol_version integer,               -- protocol number of the game
  map text,                               -- map or level
  gamemode text,                          -- game mode
  plugins text,                           -- a list of {name, version}
  guid text,                              -- RakNet server GUID
  port_v4 integer,                        -- IPv4 port to join, as advertised
  port_v6 integer,                        -- IPv6 port to join, as advertised
  flags text not null,                    -- anomalies in the replies: a list of text
  extras text,                            -- each protocol's own facts
  software_confidence text,               -- confidence of software: A, B or C
  proxy text,                             -- proxy in front of the server
  alias_of text,                          -- host:port of the first row of the same server
  requested_as text,                      -- requested name, or NAME SRV HOST:PORT
  joinable integer,                       -- whether the server accepts RakNet connections
  mtu integer,                            -- RakNet MTU that the server accepts
  raknet_protocol integer,                -- RakNet protocol number
  favicon_hash text,                      -- favicons.hash
  content blob not null,                  -- 64-bit hash of what the server publishes, without players
  digest blob not null,                   -- 64-bit hash of all columns that a reply fills
  first_seen integer not null,            -- when the server was first found or imported
  changed_at integer not null,            -- when the database recorded the last change of the content or of online
  tags text not null default '[]',        -- set by users of the database: no scan or watch changes them
  notes text,                             -- set by users of the database, like tags
  kind_key text not null generated always as (case when alias_of is null then '' else 'alias' end || '|' || replace(coalesce(edition, ''), '|', '?') || '|' || replace(coalesce(software_confidence, ''), '|', '?') || '|' || protocols) virtual -- alias or nothing, edition, software_confidence and protocols, joined by |, for searches
) strict;

create index servers_address on servers (address_sort, port);
create index servers_port on servers (port);
create index servers_hostname on servers (hostname) where hostname is not null;
create index servers_software on servers (software_key);
create index servers_kind on servers (kind_key);
create index servers_name on servers (name_key, id);
create index servers_version on servers (version_key, id);
create index servers_new on servers (first_seen, id);
create index servers_changed on servers (changed_at, id);

-- One row per server, with the values that each poll writes.
create table server_state (
  server integer primary key,             -- servers.id
  scan integer,                           -- scans.id of the last reply
  probed_at integer not null,             -- last probe, with or without a reply
  replied_at integer,                     -- last reply; null: never
  latency_ms real,                        -- round trip of the last reply, milliseconds
  players_online integer,                 -- players online
  players_max integer,                    -- player slots
  missed_scans integer not null,          -- scans in a row that probed the server without a reply
  online integer not null,                -- whether the server counts as online
  lacking_parts text not null default ''  -- parts that the last replies lacked, and how often: an object; empty: none
) strict;

create index server_state_players on server_state
  (online, (coalesce(players_online, -1)), server);

-- Players' names as last published, only of servers that publish them.
create table server_players (
  server integer primary key,             -- servers.id
  names text not null,                    -- a list of text
  seen_at integer not null                -- when the server published them
) strict;

-- The values of servers.flags, one row each, for searches.
create table server_flags (
  flag text not null,                     -- the flag
  server integer not null,                -- servers.id
  primary key (flag, server)
) strict, without rowid;

-- What scans and watches saw of a server: see "When an observation is written" in docs/database.md.
create table observations (
  at integer not null,                    -- when the server was probed
  server integer not null,                -- servers.id
  scan integer not null,                  -- scans.id
  latency_ms real,                        -- round trip, milliseconds
  players_online integer,                 -- players online
  players_max integer,                    -- player slots
  online integer not null,                -- whether the server replied
  content blob,                           -- servers.content at that time; null without a reply
  primary key (server, at, scan)
) strict, without rowid;

-- Changes of servers, each written once, by the transaction that changed the server's state.
create table events (
  tx integer not null default 0,          -- transaction that wrote the event; 0 in SQLite
  seq integer primary key autoincrement,  -- order of events of one transaction
  id text not null unique,                -- the event's identity, UUIDv7
  at integer not null,                    -- when the change was detected
  server integer,                         -- servers.id; null: the event is about no single server
  scan integer,                           -- scans.id of the scan or watch that detected it
  kind text not null,                     -- online, offline, changed, restarted, opted_out, watcher_offline, watcher_online
  data text not null                      -- further values of the event: an object
) strict;

create index events_server on events (server, at);
create index events_at on events (at);

-- How far webhooks of watches have sent the events. One watch at a time sends them.
create table webhook_positions (
  webhook text not null,                  -- hash of the webhook's URL without user and password
  kinds text not null,                    -- the kinds of events that are sent, with commas
  tx integer not null,                    -- events.tx of the last event that was sent or left out
  seq integer not null,                   -- events.seq of that event
  pruned integer not null default 0,      -- events that prune removed before they were sent, and that no watch has reported yet
  holder text,                            -- scans.uuid of the watch that sends; null: none
  held_until integer not null,            -- after this time another watch may send
  primary key (webhook, kinds)
) strict, without rowid;

-- One row per distinct icon.
create table favicons (
  hash text primary key,                  -- SHA-256, hexadecimal
  data text not null,                     -- base64
  first_seen integer not null             -- when it was first received
) strict;

-- The raw bytes of the last reply per server and protocol.
create table replies (
  server integer not null,                -- servers.id
  protocol text not null,                 -- name of the protocol
  seen_at integer not null,               -- when the reply arrived
  size integer not null,                  -- bytes
  data text not null,                     -- base64, of the first 32,768 bytes
  primary key (server, protocol)
) strict, without rowid;

-- Addresses that opted out: watches and scans omit them.
create table opt_outs (
  address text primary key,               -- the address
  noted_at integer not null               -- when a reply first carried the opt-out
) strict;

-- The salt of hashes: one row. Whoever reads it can test whether a hash belongs to a given server.
create table blocksweep_salt (
  salt blob not null                      -- random bytes that are part of each hash in forgotten and webhook_positions
) strict;

-- Servers that were removed with the command forget: no scan, watch or import restores them.
create table forgotten (
  hash blob primary key,                  -- SHA-256 of the salt and the server's key, or its address and port
  subject blob not null,                  -- the hash of the server's address and port, or of its key if they are unknown
  at integer not null                     -- when it was forgotten
) strict, without rowid;

-- When a watch ran: one row per time without interruption. docs/database.md: "Uptime".
create table watch_spans (
  scan integer not null,                  -- scans.id of the watch
  started_at integer not null,            -- start
  ended_at integer not null,              -- end, or the time up to which all results are written
  primary key (scan, started_at)
) strict, without rowid;

-- What watches saw of a server in an hour or a day (UTC).
create table rollups (
  at integer not null,                    -- start of the hour or day
  hours integer not null,                 -- 1: an hour; 24: a day
  server integer not null,                -- servers.id
  player_s integer not null,              -- player seconds: the sum of the times of all players
  watched_s integer not null,             -- seconds watched
  online_s integer not null,              -- seconds watched and online
  players_min integer,                    -- minimum of players online; null: not published
  players_max integer,                    -- maximum of players online; null: not published
  primary key (hours, at, server)
) strict, without rowid;

-- The uptime in the last 30 days, for lists of servers. Computed with the rollups of days.
create table server_uptime (
  server integer primary key,             -- servers.id
  until integer not null,                 -- end of the last of the 30 days (UTC)
  watched_s integer not null,             -- sum of rollups.watched_s
  online_s integer not null               -- sum of rollups.online_s
) strict;

-- Sums of rollups by a property of servers: the 1,000 values with the most seconds online, and the rest.
create table rollup_totals (
  at integer not null,                    -- start of the hour or day
  hours integer not null,                 -- 1: an hour; 24: a day
  kind text not null,                     -- edition, software, version, port, protocol
  rank integer not null,                  -- 1: the most seconds online; 0: all values beyond 1,000
  value text,                             -- the value, 64 characters; null: unknown, or rank 0
  servers integer not null,               -- number of watched servers, each address and port once
  player_s integer not null,              -- sum of rollups.player_s
  watched_s integer not null,             -- sum of rollups.watched_s
  online_s integer not null,              -- sum of rollups.online_s
  primary key (hours, at, kind, rank)
) strict, without rowid;

-- Hours whose rollups are to be computed again.
create table dirty_hours (
  hour integer not null,                  -- start of the hour
  server integer not null,                -- servers.id; 0: all servers
  next_server integer not null,           -- for server 0: servers with smaller ids are already computed; 2147483647: only the totals are not
  marks integer not null,                 -- how often the hour became dirty since its last computation
  primary key (hour, server)
) strict, without rowid;

-- The times up to which rollups are computed: one row. The year 1970 means that none is computed yet.
create table rollup_state (
  closing_until integer not null,         -- a new row with an earlier time makes its hours dirty
  closed_until integer not null,          -- hours before this time were computed, or are in dirty_hours
  sealed_until integer not null           -- hours before this time are final: prune removed their rows
) strict;

insert into rollup_state values (0, 0, 0);

-- The uptime of servers in 30 days of which the last one is at most 30 days ago.
create view recent_uptime as
select server, cast(online_s as real) / watched_s as uptime_30d from server_uptime where until > unixepoch('now', '-30 days') * 1000;

-- The view of servers for other programs: its columns stay when tables change.
create view server_list as
select s.key, s.hostname, s.address, s.port, s.protocols, s.edition, s.software, s.name, s.motd_plain,
  s.version, s.map, s.gamemode, t.online, t.players_online, t.players_max, p.names as players,
  t.latency_ms, s.flags, s.tags, s.favicon_hash, s.first_seen, s.changed_at, t.probed_at, t.replied_at,
  t.missed_scans, u.uptime_30d, p.seen_at as players_at
from servers s join server_state t on t.server = s.id
-- Names of an earlier reply are not the players of an empty server.
left join server_players p on p.server = t.server and (coalesce(t.players_online, 1) <> 0 or p.seen_at >= t.replied_at)
left join recent_uptime u on u.server = t.server
where not exists (select 1 from opt_outs o where o.address = s.address);
