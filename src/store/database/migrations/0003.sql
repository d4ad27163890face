-- Addresses whose servers ask scanners to stay away: watches and rescans leave them out.
create table opt_outs (
  host text primary key,                  -- as in servers
  noted_at bigint not null
);
