-- A cache of schema version 1, as the library wrote it: winners, trials, requests and a lease.
PRAGMA application_id = 1952933229;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY,  -- "created by", "family mma": its fingerprint when last used
  value TEXT NOT NULL
) STRICT;
INSERT INTO meta VALUES('family wgmma','13a60136ea0c79f0bac752b947bf3e9e');
INSERT INTO meta VALUES('family naive_2d','b24d36d3bcc3f638cf9586e040770b8a');
INSERT INTO meta VALUES('family mma','4c5e5fac13736c609291123c258e8af4');
INSERT INTO meta VALUES('family blocked','7a1a0f81d1e46bf72e61b7b775982913');
CREATE TABLE toolchain (
  id          INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  compiler    TEXT NOT NULL,
  driver      TEXT NOT NULL
) STRICT;
INSERT INTO toolchain VALUES(1,'4bf0c853b7ff25f17063a1063de4d426','nvrtc 13.0','580.65');
INSERT INTO toolchain VALUES(2,'ecd059ce4d8845a00e58a8600ecf4e2f','nvrtc 13.0','535.1');
INSERT INTO toolchain VALUES(3,'253ac6348c334fb03e41cb851abf041e','g++ 12.2.0','glibc 2.36');
CREATE TABLE device (
  id                 INTEGER PRIMARY KEY,
  fingerprint        TEXT NOT NULL UNIQUE,
  backend            INTEGER NOT NULL,
  name               TEXT NOT NULL,
  compute_capability INTEGER NOT NULL,
  units              INTEGER NOT NULL,
  memory_bytes       INTEGER NOT NULL,
  l2_bytes           INTEGER NOT NULL,
  clock_mhz          INTEGER NOT NULL,
  power_limit_watts  INTEGER NOT NULL,
  toolchain          INTEGER REFERENCES toolchain  -- the one last seen on it
) STRICT;
INSERT INTO device VALUES(1,'643068efb7f22cc683e9105d3afc518c',2,'Sample GPU',90,132,151397597184,62914560,1980,700,1);
INSERT INTO device VALUES(2,'cd3a230be59a9ca822d04d0451870af0',1,'Sample CPU',0,2,8589934592,33554432,3000,0,3);
CREATE TABLE problem (
  id                  INTEGER PRIMARY KEY,
  fingerprint         TEXT NOT NULL UNIQUE,
  text                TEXT NOT NULL,
  m                   INTEGER NOT NULL,
  n                   INTEGER NOT NULL,
  k                   INTEGER NOT NULL,
  batch               INTEGER NOT NULL,
  type_a              TEXT NOT NULL,
  type_b              TEXT NOT NULL,
  type_d              TEXT NOT NULL,
  order_a             TEXT NOT NULL,
  order_b             TEXT NOT NULL,
  order_c             TEXT NOT NULL,
  leading_dimension_a INTEGER NOT NULL,
  leading_dimension_b INTEGER NOT NULL,
  leading_dimension_c INTEGER NOT NULL,
  leading_dimension_d INTEGER NOT NULL,
  batch_stride_a      INTEGER NOT NULL,
  batch_stride_b      INTEGER NOT NULL,
  batch_stride_c      INTEGER NOT NULL,
  batch_stride_d      INTEGER NOT NULL,
  alignment_a         INTEGER NOT NULL,
  alignment_b         INTEGER NOT NULL,
  alignment_c         INTEGER NOT NULL,
  alignment_d         INTEGER NOT NULL,
  c_is_d              INTEGER NOT NULL,
  alpha               TEXT NOT NULL,
  beta                TEXT NOT NULL,
  activation          TEXT NOT NULL,
  bias                TEXT NOT NULL,
  numerics            TEXT NOT NULL,
  regime              TEXT NOT NULL,
  types               TEXT NOT NULL,  -- "f16→f16"
  layout              TEXT NOT NULL,  -- "nn"
  epilogue            TEXT NOT NULL,  -- "", "bias/col relu"
  details             TEXT NOT NULL,  -- what is unusual: "lda=4104 align_b=2 warm"
  flops               REAL NOT NULL,
  minimum_bytes       REAL NOT NULL
) STRICT;
INSERT INTO problem VALUES(1,'bd838b3ea8df01726ff048228a7b143d','m=640 n=512 k=512 batch=1 a=f16,row,512,0,16 b=f16,row,512,0,16 c=f16,row,512,0,16 d=f16,row,512,0,16 c_is_d=0 alpha=one beta=zero activation=none bias=none numerics=ieee regime=cold',640,512,512,1,'f16','f16','f16','row','row','row',512,512,512,512,0,0,0,0,16,16,16,16,0,'one','zero','none','none','ieee','cold','f16→f16','nn','','',335544320.0,1835008.0);
INSERT INTO problem VALUES(2,'5b8bd5b473b135e5cf5f1dd20e3450a6','m=4096 n=4096 k=4096 batch=1 a=f16,row,4096,0,16 b=f16,row,4096,0,16 c=f16,row,4096,0,16 d=f16,row,4096,0,16 c_is_d=0 alpha=one beta=zero activation=none bias=none numerics=ieee regime=cold',4096,4096,4096,1,'f16','f16','f16','row','row','row',4096,4096,4096,4096,0,0,0,0,16,16,16,16,0,'one','zero','none','none','ieee','cold','f16→f16','nn','','',137438953472.0,100663296.0);
INSERT INTO problem VALUES(3,'a2f926672ddf02a117fd5c6de8e1787a','m=8192 n=4096 k=4096 batch=1 a=bf16,row,4096,0,16 b=bf16,col,4096,0,16 c=bf16,row,4096,0,16 d=bf16,row,4096,0,16 c_is_d=0 alpha=one beta=zero activation=none bias=none numerics=ieee regime=cold',8192,4096,4096,1,'bf16','bf16','bf16','row','col','row',4096,4096,4096,4096,0,0,0,0,16,16,16,16,0,'one','zero','none','none','ieee','cold','bf16→bf16','nt','','',274877906944.0,167772160.0);
INSERT INTO problem VALUES(4,'81309bc01bd6889054bcde3733753702','m=4 n=5 k=6 batch=1 a=f32,row,6,0,8 b=f32,row,5,0,4 c=f32,row,5,0,4 d=f32,row,5,0,4 c_is_d=0 alpha=one beta=zero activation=none bias=none numerics=ieee regime=cold',4,5,6,1,'f32','f32','f32','row','row','row',6,5,5,5,0,0,0,0,8,4,4,4,0,'one','zero','none','none','ieee','cold','f32→f32 ieee','nn','','',240.0,296.0);
INSERT INTO problem VALUES(5,'e3da90cb82a5637bcc8e1fa44eb9b4cd','m=3 n=5 k=6 batch=1 a=f32,row,6,0,8 b=f32,row,5,0,4 c=f32,row,5,0,4 d=f32,row,5,0,4 c_is_d=0 alpha=one beta=zero activation=none bias=none numerics=ieee regime=cold',3,5,6,1,'f32','f32','f32','row','row','row',6,5,5,5,0,0,0,0,8,4,4,4,0,'one','zero','none','none','ieee','cold','f32→f32 ieee','nn','','',180.0,252.0);
INSERT INTO problem VALUES(6,'69ff3e46bef60ebf10bc5de3561df13e','m=512 n=512 k=512 batch=1 a=f16,row,512,0,16 b=f16,row,512,0,16 c=f16,row,512,0,16 d=f16,row,512,0,16 c_is_d=0 alpha=one beta=zero activation=none bias=none numerics=ieee regime=cold',512,512,512,1,'f16','f16','f16','row','row','row',512,512,512,512,0,0,0,0,16,16,16,16,0,'one','zero','none','none','ieee','cold','f16→f16','nn','','',268435456.0,1572864.0);
INSERT INTO problem VALUES(7,'10911e95af5bfb9da5e5238b13d6836c','m=2048 n=2048 k=2048 batch=1 a=f16,row,2048,0,16 b=f16,row,2048,0,16 c=f16,row,2048,0,16 d=f16,row,2048,0,16 c_is_d=0 alpha=one beta=zero activation=none bias=none numerics=ieee regime=cold',2048,2048,2048,1,'f16','f16','f16','row','row','row',2048,2048,2048,2048,0,0,0,0,16,16,16,16,0,'one','zero','none','none','ieee','cold','f16→f16','nn','','',17179869184.0,25165824.0);
CREATE TABLE config (
  id     INTEGER PRIMARY KEY,
  text   TEXT NOT NULL UNIQUE,  -- "mma block_m=128 block_n=256 ..."
  family TEXT NOT NULL,
  knobs  TEXT NOT NULL
) STRICT;
INSERT INTO config VALUES(1,'mma block_m=128 block_n=128 block_k=32 warp_m=64 warp_n=64 stages=4 group_m=8 split_k=1','mma','block_m=128 block_n=128 block_k=32 warp_m=64 warp_n=64 stages=4 group_m=8 split_k=1');
INSERT INTO config VALUES(2,'wgmma block_m=128 block_n=256 block_k=64 stages=4 stages_d=1 consumers=2 ping_pong=0 cluster_m=2 cluster_n=1 group=8 raster=1 by_gpc=1 evict_first=0 split_k=1 in_flight=1 tensor_store=1 swap_ab=0 prefetch=0','wgmma','block_m=128 block_n=256 block_k=64 stages=4 stages_d=1 consumers=2 ping_pong=0 cluster_m=2 cluster_n=1 group=8 raster=1 by_gpc=1 evict_first=0 split_k=1 in_flight=1 tensor_store=1 swap_ab=0 prefetch=0');
INSERT INTO config VALUES(3,'wgmma block_m=128 block_n=256 block_k=64 stages=4 stages_d=1 consumers=2 ping_pong=0 cluster_m=2 cluster_n=1 group=16 raster=0 by_gpc=0 evict_first=0 split_k=1 in_flight=1 tensor_store=1 swap_ab=0 prefetch=0','wgmma','block_m=128 block_n=256 block_k=64 stages=4 stages_d=1 consumers=2 ping_pong=0 cluster_m=2 cluster_n=1 group=16 raster=0 by_gpc=0 evict_first=0 split_k=1 in_flight=1 tensor_store=1 swap_ab=0 prefetch=0');
INSERT INTO config VALUES(4,'naive_2d wide=0','naive_2d','wide=0');
INSERT INTO config VALUES(5,'naive_2d wide=1','naive_2d','wide=1');
INSERT INTO config VALUES(6,'blocked vector_bytes=32 tile_m=4 tile_n=3 block_m=128 block_n=4096 block_k=256 split_m=1 split_n=1 prefetch=0','blocked','vector_bytes=32 tile_m=4 tile_n=3 block_m=128 block_n=4096 block_k=256 split_m=1 split_n=1 prefetch=0');
CREATE TABLE kernel (
  id           INTEGER PRIMARY KEY,
  source       TEXT NOT NULL,     -- the source's fingerprint
  compiler     TEXT NOT NULL,
  architecture INTEGER NOT NULL,
  entry        TEXT NOT NULL,
  code         BLOB NOT NULL,
  sha256       TEXT NOT NULL,     -- of `code`
  registers    INTEGER NOT NULL,
  shared_bytes INTEGER NOT NULL,
  spill_bytes  INTEGER NOT NULL,
  compile_ms   REAL NOT NULL,
  UNIQUE (source, compiler, architecture)
) STRICT;
INSERT INTO kernel VALUES(1,'d850a662b92f7a07135c1a336b215cd2','nvrtc 13.0',90,'tunedgemm_sample',X'050c131a21282f363d444b525960676e757c838a91989fa6','9b0be97a4c0b7ecf0e747b3b0e64e2bc9d9b740d437e791bd216e2139c13bea1',168,0,0,900.0);
INSERT INTO kernel VALUES(2,'7334587fae2951b685476b2bdaf788a1','nvrtc 13.0',90,'tunedgemm_sample',X'01080f161d242b323940474e555c636a71787f868d949ba2','993ea42e5263f19fd69652835ae9ef949e9cca5289ec29dcd7d3aa2763afc78e',168,0,0,900.0);
INSERT INTO kernel VALUES(3,'a52f6441229fe02b69c5f18f893d18b3','nvrtc 13.0',90,'tunedgemm_sample',X'020910171e252c333a41484f565d646b727980878e959ca3','1b19454a0c08acec12ecc9660d401862580f3f14a5f81fec8cb40751261e721c',168,0,0,900.0);
INSERT INTO kernel VALUES(4,'00a7f196130772873c20883ab9234fea','nvrtc 13.0',90,'tunedgemm_sample',X'030a11181f262d343b424950575e656c737a81888f969da4','73281455a5e6186744d4ddbb1d5a10958c9d8e34f150c9f8912eaa4b8f3996ad',168,0,0,900.0);
INSERT INTO kernel VALUES(5,'b3219a79544bc0db4f90c1fda8b20f9c','nvrtc 13.0',90,'tunedgemm_sample',X'040b121920272e353c434a51585f666d747b828990979ea5','3d85c860e1ff3d996a675417db2d108d9ed95a12b83f87e51991cd4774c9549d',168,0,0,900.0);
INSERT INTO kernel VALUES(6,'574184f5adb152270ab16934acc76cdf','g++ 12.2.0',0,'tunedgemm_sample',X'060d141b222930373e454c535a61686f767d848b9299a0a7','f2bb8d27ad43453f491cd819d7c86296c3f97f0ada667329165cbbee59874052',168,0,0,900.0);
CREATE TABLE trial (
  id                 INTEGER PRIMARY KEY,
  problem            INTEGER NOT NULL REFERENCES problem,
  device             INTEGER NOT NULL REFERENCES device,
  toolchain          INTEGER NOT NULL REFERENCES toolchain,
  config             INTEGER NOT NULL REFERENCES config,
  family_fingerprint TEXT NOT NULL,
  reason             INTEGER,            -- why it cannot win; null: it was measured
  detail             TEXT NOT NULL,
  median_us          REAL,               -- null: it was not measured
  low_us             REAL,
  high_us            REAL,
  samples            BLOB,               -- 32-bit floats, microseconds
  final_round        INTEGER NOT NULL,
  predicted_us       REAL NOT NULL,
  max_error          REAL NOT NULL,      -- relative to the bound: 1 is the limit
  registers          INTEGER NOT NULL,
  shared_bytes       INTEGER NOT NULL,
  spill_bytes        INTEGER NOT NULL,
  compile_ms         REAL NOT NULL,
  sm_clock_mhz       INTEGER NOT NULL,
  tried_at           TEXT NOT NULL,
  UNIQUE (problem, device, toolchain, config)
) STRICT;
INSERT INTO trial VALUES(1,2,1,1,2,'13a60136ea0c79f0bac752b947bf3e9e',NULL,'',180.0,180.0,180.0,X'00003443',1,180.0,0.25,168,200000,0,900.0,1755,'2026-11-22 10:00:00');
INSERT INTO trial VALUES(2,2,1,1,1,'4c5e5fac13736c609291123c258e8af4',NULL,'',260.0,260.0,260.0,X'00008243',1,260.0,0.25,168,200000,0,900.0,1755,'2026-11-22 10:00:00');
INSERT INTO trial VALUES(3,3,1,2,3,'13a60136ea0c79f0bac752b947bf3e9e',NULL,'',350.0,350.0,350.0,X'0000af43',1,350.0,0.25,168,200000,0,900.0,1755,'2026-11-22 10:00:00');
INSERT INTO trial VALUES(4,3,1,2,2,'13a60136ea0c79f0bac752b947bf3e9e',2,'spills 16 bytes',NULL,NULL,NULL,NULL,0,1.0,0.25,168,200000,0,900.0,1755,'2026-11-22 10:00:00');
INSERT INTO trial VALUES(5,4,1,1,4,'b24d36d3bcc3f638cf9586e040770b8a',NULL,'',3.0,3.0,3.0,X'00004040',1,3.0,0.25,168,200000,0,900.0,1755,'2026-11-22 10:00:00');
INSERT INTO trial VALUES(6,4,1,1,5,'b24d36d3bcc3f638cf9586e040770b8a',NULL,'',6.0,6.0,6.0,X'0000c040',1,6.0,0.25,168,200000,0,900.0,1755,'2026-11-22 10:00:00');
INSERT INTO trial VALUES(7,5,1,1,5,'b24d36d3bcc3f638cf9586e040770b8a',NULL,'',3.0,3.0,3.0,X'00004040',1,3.0,0.25,168,200000,0,900.0,1755,'2026-11-22 10:00:00');
INSERT INTO trial VALUES(8,6,1,1,1,'4c5e5fac13736c609291123c258e8af4',NULL,'',9.0,9.0,9.0,X'00001041',1,9.0,0.25,168,200000,0,900.0,1755,'2026-11-22 10:00:00');
CREATE TABLE winner (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,  -- a replaced row has a new one
  problem            INTEGER NOT NULL REFERENCES problem,
  device             INTEGER NOT NULL REFERENCES device,
  toolchain          INTEGER NOT NULL REFERENCES toolchain,
  config             INTEGER NOT NULL REFERENCES config,
  family_fingerprint TEXT NOT NULL,
  kernel             INTEGER REFERENCES kernel ON DELETE SET NULL,
  median_us          REAL NOT NULL,
  low_us             REAL NOT NULL,
  high_us            REAL NOT NULL,
  samples            BLOB NOT NULL,
  default_us         REAL NOT NULL,    -- 0: unknown, here and below
  naive_us           REAL NOT NULL,
  runner_up_us       REAL NOT NULL,
  tie_count          INTEGER NOT NULL,
  ties               TEXT NOT NULL,    -- one a line
  rigor              INTEGER NOT NULL,
  candidates_tried   INTEGER NOT NULL,
  candidates_legal   INTEGER NOT NULL,
  complete           INTEGER NOT NULL,
  spent_seconds      REAL NOT NULL,
  compile_seconds    REAL NOT NULL,
  check_seconds      REAL NOT NULL,
  screen_seconds     REAL NOT NULL,
  finals_seconds     REAL NOT NULL,
  max_error          REAL NOT NULL,
  tuned_at           TEXT NOT NULL,
  UNIQUE (problem, device, toolchain)
) STRICT;
INSERT INTO winner VALUES(1,1,1,1,1,'00000000000000000000000000000000',1,9.0,8.5,9.5,X'0000104100001441',13.5,360.0,9.25,0,'',3,8,16,1,2.0,1.0,0.0,0.0,0.0,0.25,'2026-11-22 10:00:00');
INSERT INTO winner VALUES(2,2,1,1,2,'13a60136ea0c79f0bac752b947bf3e9e',2,180.0,179.49999999999999999,180.49999999999999999,X'0000344300403443',270.0,7200.0,180.24999999999999999,2,replace('wgmma block_m=128 block_n=256 block_k=64 stages=4 stages_d=1 consumers=2 ping_pong=0 cluster_m=2 cluster_n=1 group=16 raster=0 by_gpc=0 evict_first=0 split_k=1 in_flight=1 tensor_store=1 swap_ab=0 prefetch=0\nmma block_m=128 block_n=128 block_k=32 warp_m=64 warp_n=64 stages=4 group_m=8 split_k=1','\n',char(10)),3,8,16,1,2.0,1.0,0.0,0.0,0.0,0.25,'2026-11-22 10:00:00');
INSERT INTO winner VALUES(3,3,1,2,3,'13a60136ea0c79f0bac752b947bf3e9e',3,350.0,349.49999999999999998,350.50000000000000001,X'0000af430020af43',525.0,14000.0,350.25,0,'',3,8,16,1,2.0,1.0,0.0,0.0,0.0,0.25,'2026-11-22 10:00:00');
INSERT INTO winner VALUES(4,4,1,1,4,'b24d36d3bcc3f638cf9586e040770b8a',4,3.0,2.5,3.5,X'0000404000005040',4.5,120.0,3.25,2,replace('naive_2d wide=1\nnaive_1d threads=256','\n',char(10)),2,8,16,1,2.0,1.0,0.0,0.0,0.0,0.25,'2026-11-22 10:00:00');
INSERT INTO winner VALUES(5,5,1,1,5,'b24d36d3bcc3f638cf9586e040770b8a',5,3.0,2.5,3.5,X'0000404000005040',4.5,120.0,3.25,0,'',3,8,16,1,2.0,1.0,0.0,0.0,0.0,0.25,'2026-11-22 10:00:00');
INSERT INTO winner VALUES(6,6,1,1,1,'4c5e5fac13736c609291123c258e8af4',1,9.0,8.5,9.5,X'0000104100001441',13.5,360.0,9.25,0,'',3,8,16,1,2.0,1.0,0.0,0.0,0.0,0.25,'2026-11-22 10:00:00');
INSERT INTO winner VALUES(7,4,2,3,6,'7a1a0f81d1e46bf72e61b7b775982913',6,0.5,0.0,1.0,X'0000003f0000403f',0.75,20.0,0.75,0,'',3,8,16,1,2.0,1.0,0.0,0.0,0.0,0.25,'2026-11-22 10:00:00');
CREATE TABLE request (
  id       INTEGER PRIMARY KEY,
  problem  INTEGER NOT NULL REFERENCES problem,
  device   INTEGER NOT NULL REFERENCES device,
  calls    INTEGER NOT NULL,
  asked_at TEXT NOT NULL,              -- the last time
  UNIQUE (problem, device)
) STRICT;
INSERT INTO request VALUES(1,7,1,2,'2026-11-22 10:00:00');
CREATE TABLE lease (
  id                 INTEGER PRIMARY KEY,
  problem            INTEGER NOT NULL REFERENCES problem,
  device             INTEGER NOT NULL REFERENCES device,
  toolchain          INTEGER NOT NULL REFERENCES toolchain,
  token              TEXT NOT NULL,    -- which lease of that process
  host               TEXT NOT NULL,
  boot               TEXT NOT NULL,
  pid                INTEGER NOT NULL,
  pid_started        INTEGER NOT NULL,
  renewed            INTEGER NOT NULL, -- seconds since 1970
  in_flight          INTEGER REFERENCES config,
  in_flight_family_fingerprint TEXT,
  UNIQUE (problem, device, toolchain)
) STRICT;
INSERT INTO lease VALUES(1,3,1,1,'1-1/1','elsewhere pid:[1]','b',24489,1,1795400000,3,'13a60136ea0c79f0bac752b947bf3e9e');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('winner',7);
CREATE INDEX winner_kernel ON winner (kernel);
CREATE VIEW best AS
WITH graded AS (
  SELECT w.*, c.text AS config_text,
         CASE WHEN f.value <> w.family_fingerprint THEN 'void'
              WHEN d.toolchain IS NOT w.toolchain THEN 'stale'
              WHEN w.complete AND w.rigor >= 3 THEN 'confirmed'
              ELSE 'provisional' END AS state
  FROM winner w
  JOIN device d ON d.id = w.device
  JOIN config c ON c.id = w.config
  LEFT JOIN meta f ON f.name = 'family ' || c.family
), judged AS (
  SELECT *, row_number() OVER (
           PARTITION BY problem, device
           ORDER BY state = 'void', state = 'stale', tuned_at DESC, id DESC) AS place
  FROM graded
)
SELECT d.name AS device, p.m, p.n, p.k, p.batch, p.types, p.layout, p.epilogue,
       w.config_text AS config,
       round(w.median_us, 2) AS median_us,
       round(p.flops / w.median_us / 1e6, 3) AS tflops,
       round(nullif(w.default_us, 0) / w.median_us, 2) AS vs_default,
       round(nullif(w.naive_us, 0) / w.median_us, 2) AS vs_naive,
       w.tie_count AS ties,
       w.state,
       CASE w.rigor WHEN 0 THEN 'model' WHEN 2 THEN 'quick' WHEN 3 THEN 'normal' WHEN 4 THEN 'exhaustive' END AS rigor,
       w.tuned_at,
       p.details,
       w.problem
FROM judged w
JOIN problem p ON p.id = w.problem
JOIN device d ON d.id = w.device
WHERE w.place = 1
ORDER BY d.name, p.types, p.m, p.n, p.k, p.batch, p.id;
CREATE VIEW trials AS SELECT d.name AS device, p.m, p.n, p.k, p.batch, p.types, p.layout, p.epilogue,
       c.text AS config,
       CASE WHEN t.reason IS NOT NULL THEN 'rejected'
            WHEN t.final_round THEN 'ok' ELSE 'screened' END AS status,
       CASE t.reason WHEN 1 THEN 'compile failed' WHEN 2 THEN 'spills' WHEN 3 THEN 'load failed' WHEN 4 THEN 'launch failed' WHEN 5 THEN 'wrong result' WHEN 6 THEN 'out of bounds' WHEN 7 THEN 'too slow' WHEN 8 THEN 'timed out' WHEN 9 THEN 'crashed' WHEN 10 THEN 'implausible' WHEN 11 THEN 'unavailable' END AS reason,
       round(t.median_us, 2) AS median_us,
       round(t.low_us, 2) AS low_us,
       round(t.high_us, 2) AS high_us,
       round(t.predicted_us, 2) AS predicted_us,
       round(t.max_error, 4) AS max_error,
       t.registers, t.shared_bytes, t.spill_bytes,
       round(t.compile_ms, 1) AS compile_ms,
       t.sm_clock_mhz,
       t.detail,
       t.tried_at,
       t.problem
FROM trial t
JOIN problem p ON p.id = t.problem
JOIN device d ON d.id = t.device
JOIN config c ON c.id = t.config
ORDER BY d.name, t.problem, t.reason IS NOT NULL, NOT t.final_round, t.median_us, c.text;
CREATE VIEW failures AS
SELECT d.name AS device, c.family,
       CASE t.reason WHEN 1 THEN 'compile failed' WHEN 2 THEN 'spills' WHEN 3 THEN 'load failed' WHEN 4 THEN 'launch failed' WHEN 5 THEN 'wrong result' WHEN 6 THEN 'out of bounds' WHEN 7 THEN 'too slow' WHEN 8 THEN 'timed out' WHEN 9 THEN 'crashed' WHEN 10 THEN 'implausible' WHEN 11 THEN 'unavailable' END AS reason,
       count(*) AS candidates,
       count(DISTINCT t.problem) AS problems,
       max(t.tried_at) AS last_at,
       c.text AS example_config,
       substr(t.detail, 1, 200) AS example_detail
FROM trial t
JOIN device d ON d.id = t.device
JOIN config c ON c.id = t.config
WHERE t.reason IS NOT NULL
GROUP BY t.device, c.family, t.reason
ORDER BY candidates DESC, d.name, c.family;
CREATE VIEW missing AS SELECT d.name AS device, p.m, p.n, p.k, p.batch, p.types, p.layout, p.epilogue,
       r.calls,
       round(r.calls * p.flops / 1e12, 3) AS teraflop_in_all,
       r.asked_at,
       p.details,
       r.problem
FROM request r
JOIN problem p ON p.id = r.problem
JOIN device d ON d.id = r.device
WHERE NOT EXISTS (SELECT 1 FROM winner w WHERE w.problem = r.problem AND w.device = r.device)
ORDER BY r.calls * p.flops DESC, p.id;
CREATE VIEW stale AS
WITH graded AS (
  SELECT w.*, c.text AS config_text,
         CASE WHEN f.value <> w.family_fingerprint THEN 'void'
              WHEN d.toolchain IS NOT w.toolchain THEN 'stale'
              WHEN w.complete AND w.rigor >= 3 THEN 'confirmed'
              ELSE 'provisional' END AS state
  FROM winner w
  JOIN device d ON d.id = w.device
  JOIN config c ON c.id = w.config
  LEFT JOIN meta f ON f.name = 'family ' || c.family
), judged AS (
  SELECT *, row_number() OVER (
           PARTITION BY problem, device
           ORDER BY state = 'void', state = 'stale', tuned_at DESC, id DESC) AS place
  FROM graded
)
SELECT d.name AS device, p.m, p.n, p.k, p.batch, p.types, p.layout, p.epilogue,
       w.config_text AS config,
       round(w.median_us, 2) AS median_us,
       t.compiler AS tuned_compiler, t.driver AS tuned_driver,
       now.compiler AS current_compiler, now.driver AS current_driver,
       w.tuned_at,
       w.problem
FROM judged w
JOIN problem p ON p.id = w.problem
JOIN device d ON d.id = w.device
JOIN toolchain t ON t.id = w.toolchain
LEFT JOIN toolchain now ON now.id = d.toolchain
WHERE w.place = 1 AND w.state = 'stale'
ORDER BY d.name, p.types, p.m, p.n, p.k, p.batch, p.id;
CREATE VIEW coverage AS
WITH graded AS (
  SELECT w.*, c.text AS config_text,
         CASE WHEN f.value <> w.family_fingerprint THEN 'void'
              WHEN d.toolchain IS NOT w.toolchain THEN 'stale'
              WHEN w.complete AND w.rigor >= 3 THEN 'confirmed'
              ELSE 'provisional' END AS state
  FROM winner w
  JOIN device d ON d.id = w.device
  JOIN config c ON c.id = w.config
  LEFT JOIN meta f ON f.name = 'family ' || c.family
), judged AS (
  SELECT *, row_number() OVER (
           PARTITION BY problem, device
           ORDER BY state = 'void', state = 'stale', tuned_at DESC, id DESC) AS place
  FROM graded
)
SELECT d.name AS device,
       count(w.problem) AS tuned,
       count(*) FILTER (WHERE w.state = 'confirmed') AS confirmed,
       count(*) FILTER (WHERE w.state = 'provisional') AS provisional,
       count(*) FILTER (WHERE w.state = 'stale') AS stale,
       count(*) FILTER (WHERE w.state = 'void') AS void,
       count(*) FILTER (WHERE w.problem IS NULL) AS missing,
       round(100.0 * count(w.problem) / count(*), 1) AS tuned_percent,
       coalesce(sum(known.calls) FILTER (WHERE w.problem IS NULL), 0) AS missing_calls,
       round(sum(w.spent_seconds), 1) AS tuning_seconds
FROM (SELECT problem, device, 0 AS calls FROM winner
      UNION
      SELECT problem, device, calls FROM request r
      WHERE NOT EXISTS (SELECT 1 FROM winner w WHERE w.problem = r.problem AND w.device = r.device)
     ) known
JOIN device d ON d.id = known.device
LEFT JOIN judged w ON w.problem = known.problem AND w.device = known.device AND w.place = 1
GROUP BY known.device
ORDER BY d.name;
CREATE VIEW winner_v1 AS
SELECT p.fingerprint AS problem_fingerprint, p.text AS problem_text,
       d.fingerprint AS device_fingerprint, d.backend, d.name AS device_name,
       d.compute_capability, d.units, d.memory_bytes, d.l2_bytes, d.clock_mhz, d.power_limit_watts,
       t.compiler, t.driver,
       c.family, c.knobs, w.family_fingerprint,
       w.median_us, w.low_us, w.high_us, w.samples,
       w.default_us, w.naive_us, w.runner_up_us, w.ties,
       w.rigor, w.candidates_tried, w.candidates_legal, w.complete,
       w.spent_seconds, w.compile_seconds, w.check_seconds, w.screen_seconds, w.finals_seconds,
       w.max_error, w.tuned_at
FROM winner w
JOIN problem p ON p.id = w.problem
JOIN device d ON d.id = w.device
JOIN toolchain t ON t.id = w.toolchain
JOIN config c ON c.id = w.config;
CREATE VIEW kernel_v1 AS
SELECT source, compiler, architecture, entry, code, sha256,
       registers, shared_bytes, spill_bytes, compile_ms
FROM kernel;
COMMIT;
