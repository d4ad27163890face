-- Attachments of records (icons and raw replies), and indexes for the sort orders of servers.

-- One row per distinct icon.
create table favicons (
  hash text primary key,                  -- SHA-256, hexadecimal, as in servers
  data text not null,                     -- base64
  first_seen bigint not null
);

-- The raw bytes of the last reply per server and protocol.
create table replies (
  server_id text not null,
  protocol text not null,
  seen_at bigint not null,
  size integer not null,                  -- bytes
  data text not null,                     -- base64, of the first 32,768 bytes
  primary key (server_id, protocol)
);

-- The start of the software's name in lower case: see softwareKey() in src/store/server_columns.ts.
alter table servers add column software_key text;
update servers set software_key = substr(lower(software), 1, 64);

drop index servers_due;
create index servers_due on servers (last_seen, id);
create index servers_new on servers (first_seen desc, id);
create index servers_software on servers
  (software_key, online desc, (coalesce(players_online, -1)) desc, id);
