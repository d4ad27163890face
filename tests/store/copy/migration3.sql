-- Addresses that opted out: watches and rescans omit them.
create table opt_outs (
  host text primary key,                  -- as in servers
  noted_at bigint not null
);
