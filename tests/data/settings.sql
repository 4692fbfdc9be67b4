-- Expressions whose results depend on settings of Spark's, or might: one a line. The test that sets
-- each setting to something else computes all of them (tests/spark/test_settings.py).
b = 5
s > 255
i <> 3
l >= 1099511627776
f < 1.6
d > 2
p = 1.5
q > 1.00
t = 'abc'
t < 'b'
t = "abc"
t = '\x41'
t = 'a\tb'
t = r'abc'
t LIKE 'a%'
t LIKE 'A\%b%'
t IN ('abc', '12')
NOT o
o IS NULL
day = DATE '2024-03-31'
day > '2024-01-01'
ts > TIMESTAMP '2024-01-01 00:00:00'
ts >= '2023-10-29 01:30:00'
ntz = TIMESTAMP_NTZ '2024-01-01 00:00:00'
ntz > TIMESTAMP '2024-01-01'
ts > day
ts = DATE '1900-01-01'
i IN (1, 2, NULL)
i NOT IN (1, NULL)
i BETWEEN 1 AND 5
i <=> NULL
p > 1
p > 1.005
i > 2.5
i = 3.0
l > 1e3
d = 1.5BD
i = 3L
b = 1Y
s = 2S
f = 1.5F
d = 2.5D
p IN (1.5, 2)
d IN (1, 2.5)
q = 12345678901234567890.1234
q > 0.00001
p = 100e-2
array_contains(tags, 'a')
arrays_overlap(tags, array('a', 'c'))
t = 'a' 'bc'
t > 'A%b'
i = +3
i > -1
i = -(1)
d = double('nan')
d > 1e308
f = float('inf')
d = 0.0
f = -0.0
st.a = 1
st.c = 'x'
size(tags) = 2
exists(tags, e -> e = 'a')
forall(tags, e -> e > 'A')
t BETWEEN 'a' AND 'b'
`i` = 3
I = 3
i == 3
i != 3
!o
o = true
o AND i > 1 OR t = '12'
i > 1 = o
t = 12
t = '１２'
t IN ('a', 1)
i = '3'
d > '1'
i = 3 -- c
i /* c */ = 3
length(t) > 2
date '2024-03-31' = day
day BETWEEN '2024-01-01' AND '2025-01-01'
day IN (DATE '2024-03-31')
p = 1.50000
p <> 0
l = 9223372036854775807
i IS NOT DISTINCT FROM 3
t ILIKE 'AB%'
t LIKE 'A^%b%' ESCAPE '^'
iv > INTERVAL '1' HOUR
o IS TRUE
o IS NOT FALSE
CASE WHEN o THEN i > 1 ELSE false END
if(o, i > 1, t = 'x')
coalesce(i, 0) = 0
i + l > 3
i / 2 > 1
i * 2.5 > 3
p / 3 > 0.4
p * q > 1
p + q > 1
q / p > 1
p % 1 = 0.5
b + b > 1
i div 2 = 1
-i < 0
abs(i) = 3
CAST(d AS INT) = 2
CAST(t AS STRING) = 'abc'
CAST(x AS STRING) = 'ab'
CAST(i AS STRING) = '3'
CAST(d AS STRING) = '2.5'
CAST(day AS STRING) = '2024-03-31'
CAST(ts AS STRING) > '2'
CAST(ntz AS STRING) > '2'
CAST(tags AS STRING) = '[a, b]'
CAST(m AS STRING) = '{k -> v}'
CAST(st AS STRING) = '{1, x}'
CAST(o AS STRING) = 'true'
CAST(o AS INT) = 1
CAST(ts AS BIGINT) > 0
CAST(p AS INT) = 1
CAST(iv AS STRING) > 'I'
size(m) = 1
size(tags) = -1
cardinality(m) = 0
tags[0] = 'a' OR i = 1
try_element_at(tags, 1) = 'a'
m['k'] = 'v'
concat(t, t) = 'abcabc'
t || '1' = 'abc1'
concat(x, x) = X'6162'
concat_ws(',', tags) = 'a,b'
elt(1, t, 'x') = 'abc'
elt(2, x, x) = X'6162'
upper(t) = 'ABC'
trim(t) = 'A%b'
substring(t, 2) = 'bc'
substr(t, 0, 1) = 'a'
locate('b', t) = 2
lpad(t, 5, '*') = '**abc'
replace(t, 'a', 'b') = 'bbc'
split(t, 'b')[0] = 'a'
regexp_extract(t, '(\\d+)', 1) = '12'
t RLIKE '\\d+'
t RLIKE 'a.c'
regexp_replace(t, '\\w', 'x') = 'xxx'
t LIKE 'a_c'
t LIKE ANY ('a%', 'b%')
format_number(d, 2) = '2.50'
format_string('%05d', i) = '00003'
date_format(ts, 'yyyy-MM-dd') = '2024-03-31'
date_format(ts, 'EEEE') = 'Sunday'
to_date('2024-03-31', 'yyyy-MM-dd') = day
to_timestamp(CAST(day AS STRING), 'yyyy-MM-dd') > ts
try_to_timestamp(t, 'yy') IS NULL
unix_timestamp(ts) > 0
from_unixtime(l) > '1'
year(day) = 2024
weekofyear(day) = 13
dayofweek(day) = 1
hour(ts) = 12
date_add(day, 1) = DATE '2024-04-01'
add_months(day, 1) = DATE '2024-04-30'
datediff(day, DATE '2024-01-01') = 90
months_between(day, DATE '2024-01-01') > 2
trunc(day, 'MM') = DATE '2024-03-01'
date_trunc('DAY', ts) = ts
ts + INTERVAL '1' DAY > TIMESTAMP '2024-01-01 00:00:00'
ts - TIMESTAMP '2024-01-01 00:00:00' > INTERVAL '1' DAY
day - DATE '2024-01-01' > INTERVAL '1' DAY
day + 1 > DATE '2024-01-01'
make_date(2024, 1, 1) = day
extract(YEAR FROM ts) = 2024
from_utc_timestamp(ts, 'UTC') = ts
to_utc_timestamp(ts, 'Asia/Tokyo') > ts
md5(x) = 'a'
sha2(t, 256) > 'a'
hex(t) = '616263'
unhex('61') = x
base64(x) = 'YWI='
unbase64('YWI=') = x
encode(t, 'UTF-8') = x
decode(x, 'UTF-8') = 'ab'
encode('é', 'US-ASCII') = x OR i = 3
crc32(x) > 0
hash(i, t) > 0
xxhash64(t) > 0
hash(m['k']) > 0
round(d, 0) = 3
bround(d) = 2
round(p, 1) = 1.5
ceil(d) = 3
floor(p) = 1
sqrt(d) > 1
pow(d, 2) > 1
log(d) > 0
exp(d) > 1
greatest(i, l) = 4
least(i, NULL) = 3
nullif(i, 3) IS NULL
ifnull(i, 1) = 1
nvl2(i, 1, 0) = 1
array_sort(tags)[0] = 'a'
sort_array(tags) = array('a', 'b')
array_distinct(tags) = tags
tags = array('a', 'b')
map_keys(m) = array('k')
map_from_arrays(tags, tags) IS NULL
map('a', 1)['a'] = 1
map('a', i, 'b', i)['a'] = 3
named_struct('a', i).a = 3
struct(i, t).col1 = 3
str_to_map(t)['abc'] IS NULL
from_json(t, 'a INT').a = 1
from_json('{"a": 1}', 'a INT').a = i
get_json_object('{"a": 1}', '$.a') = t OR i = 3
to_json(st) = '{"a":1,"c":"x"}'
from_csv('1', 'a INT').a = 1 AND i > 1
to_csv(st) = '1,x'
schema_of_json('{"a":1}') > t
array(1, 2.5)[0] > i
array_contains(array(1, 2), i)
CASE WHEN i > 1 THEN t ELSE i END = 'abc'
if(o, i, d) > 1
coalesce(i, t) = '3'
CAST(t AS CHAR(5)) = 'abc'
CAST(t AS VARCHAR(2)) = 'ab'
CAST('12' AS INT) = i
CAST(1e10 AS DECIMAL(20,5)) > q
CAST(ntz AS TIMESTAMP) > ts
CAST(ts AS TIMESTAMP_NTZ) > ntz
CAST(ts AS DATE) = day
CAST(day AS TIMESTAMP) > ts
try_cast(t AS INT) = 12
try_cast(t AS DATE) IS NULL
try_add(i, 2147483647) IS NULL
i & 1 = 1
i << 2 = 12
~i < 0
bit_count(i) = 2
conv(t, 10, 16) = 'C'
bin(i) = '11'
ascii(t) = 97
chr(65) = t
char_length(t) = 3
octet_length(t) = 3
initcap(t) = 'Abc'
reverse(t) = 'cba'
soundex(t) = 'A120'
levenshtein(t, 'abd') = 1
translate(t, 'a', 'b') = 'bbc'
overlay(t PLACING 'z' FROM 1) = 'zbc'
position('b' IN t) = 2
find_in_set('a', t) = 0
sentences(t)[0][0] = 'abc'
width_bucket(d, 0, 10, 5) = 2
parse_url('http://a/b', 'HOST') = t OR i = 3
url_encode(t) = 'abc'
try_to_number(t, '99') = 12
to_char(p, '99.99') > ' '
typeof(i) = 'int'
typeof('a') = 'string'
typeof(1.5) = 'decimal(2,1)'
typeof(TIMESTAMP '2024-01-01') = 'timestamp'
typeof(p * p) > t
typeof(i / l) = 'double'
typeof(array()) > t
typeof(NULL) > t
typeof(map()) > t
typeof(CAST(t AS CHAR(3))) > t
typeof(1e3) > t
typeof(day - day) > t
typeof(ts - ts) > t
typeof(INTERVAL 1 DAY) > t
typeof(if(o, day, t)) > t
typeof(coalesce(p, d)) > t
typeof(p / q) > t
equal_null(i, 3)
zeroifnull(i) = 0
array_insert(tags, -1, 'z')[0] = 'z'
array_prepend(tags, 'x')[0] = 'x'
flatten(array(tags, tags))[0] = 'a'
slice(tags, 1, 1) = array('a')
sequence(1, 3)[0] = 1 AND i > 1
transform(tags, e -> upper(e))[0] = 'A' OR i = 1
filter(tags, e -> e > 'a') = array('b')
exists(tags, e -> e IS NULL)
aggregate(tags, '', (a, e) -> a || e) = 'ab'
d % 2 = 0.5
pmod(i, 2) = 1
mod(p, 1) = 0.5
typeof(p * q)
typeof(p / q)
typeof(p + q)
typeof(p - q)
typeof(p % q)
typeof(CAST(1e10 AS DECIMAL(20,5)) * q)
typeof(1e3)
typeof(1.50 * p)
typeof(TIMESTAMP '2024-01-01')
typeof(to_timestamp(t))
typeof(day - day)
typeof(ts - ts)
typeof(INTERVAL '1' DAY)
typeof(array())
typeof(map())
typeof(CAST(t AS CHAR(3)))
typeof(concat(x, x))
typeof(elt(1, x, x))
typeof(lpad(x, 3, x))
typeof(coalesce(p, q))
typeof(if(o, day, t))
typeof(coalesce(ts, t))
typeof(array(1, 2L))
typeof(map('a', 1, 'b', 2L))
typeof(if(o, array(1), array('a')))
typeof(TIME '12:00:00')
typeof(p * 1)
typeof(p * 1.0)
typeof(i * 1.5)
typeof(i + p)
CAST(X'ff41' AS STRING)
base64(CAST(repeat(t, 60) AS BINARY))
to_json(named_struct('a', i, 'b', CAST(NULL AS INT)))
from_json('{"a": "x", "b": 1}', 'a INT, b INT')
from_json('{"a": {"b": 1 }}', 'a STRING')
from_json('', 'a INT')
from_json('{"a": ""}', 'a INT')
from_json('{"a": "2024-01-01T00"}', 'a TIMESTAMP')
from_json('{"a": "1.1.2024"}', 'a DATE', map('dateFormat', 'd.M.yyyy'))
format_string('%0$s', 'a')
split(t, '')
split('', '')
split('aXbX', 'X')
upper('ß')
lower('İ')
initcap('ǆabc')
t ILIKE 'ABC'
hash(d)
hash(map('a', 1))
array_sort(tags, (a, b) -> CAST(NULL AS INT))
map('a', 1, 'a', 2)
map_concat(m, m)
map(0.0D, 1, -0.0D, 2)
map(-0.0D, 1)
map_zip_with(m, m, (k, a, b) -> a)
map_zip_with(map(X'61', 1), map(X'61', 2), (k, a, b) -> a)
x
CAST(x AS STRING)
to_char(x, 'hex')
encode('é', 'US-ASCII')
encode('é', 'ISO-8859-5')
encode(t, 'windows-1252')
decode(X'e9', 'US-ASCII')
decode(X'e9', 'windows-1252')
parse_json('{"a": 1, "a": 2}')::STRING
try_parse_json('{"a": "\\ud800"}')::STRING
CAST(INTERVAL '1 02:03:04' DAY TO SECOND AS STRING)
date_format(ts, 'YYYY')
date_format(ts, 'u')
to_timestamp('2024-1-1', 'yyyy-MM-dd')
to_date('20240101', 'yyyy-MM-dd')
unix_timestamp('2024', 'yy')
from_unixtime(0, 'yyyy-MM-dd a')
array_insert(array(1, 2, 3), -2, 9)
array_insert(array(1, 2, 3), -5, 9)
sequence(DATE '2024-01-01', DATE '2024-01-03')
CAST(map(1, 2) AS STRING)
CAST(array(NULL, 1) AS STRING)
CAST(named_struct('a', NULL) AS STRING)
size(CAST(NULL AS ARRAY<INT>))
cardinality(CAST(NULL AS MAP<INT,INT>))
i IN ()
NULL IN ()
t IN ('abc') = o
1 BETWEEN 0 AND 2
! i IN (3)
i ! IN (3)
! o = true
NOT o = true
'a' 'b'
'a''b'
"a"
'\n'
r'\n'
`i`
`i.*`
`(i|l)`
1e3
1.5E2
1.5
-1.5e-3BD
12345678901234567890
DATE '2024-1-1'
TIMESTAMP '2024-01-01 00:00:00+01:00'
TIMESTAMP '2024-01-01 00:00:00'
INTERVAL 1 DAY
INTERVAL '1-2' YEAR TO MONTH
INTERVAL '5 12:30:15' DAY TO SECOND
CAST('5 12:30:15' AS INTERVAL DAY TO SECOND)
INTERVAL '10:11:12' HOUR TO SECOND
DATE '2024-01-01' + INTERVAL 1 MONTH
DATE '2024-01-01' > '2023'
ts > '2023'
ts = '2024'
day = t
ts = t
i = t
i = '3 '
p = '1.5'
d = '1.5'
o = 'true'
o = 't'
x = t
x = 'ab'
l = 4.0
i = 3.0D
f = 1.5
f = d
p = d
q = d
b = 300
CAST(300 AS TINYINT)
CAST('12 ' AS INT)
CAST('1.5' AS INT)
CAST(1.999 AS DECIMAL(3,1))
CAST(12345.678 AS DECIMAL(5,1))
round(12345.678BD, -2)
CAST(1e20 AS DECIMAL(5,-3))
q * q
q / 3
1BD / 3
q % 3
CAST(q AS DECIMAL(38,18)) * CAST(q AS DECIMAL(38,18))
p * 123456789012345678901234567890.12345
1e-5BD + 1
st = named_struct('a', 1, 'c', 'x')
st IN (named_struct('a', 1, 'c', 'x'))
array(i) = array(3L)
struct(i, t) = struct(3, 'abc')
st.A
ST.a
named_struct('a', 1, 'A', 2).a
m.k
m.K
tags[1]
tags[5]
m['zz']
element_at(m, 'zz')
element_at(tags, 0)
i / 0
p / 0
d / 0
i % 0
2147483647 + i
9223372036854775807 + l
-(-2147483647 - 1)
abs(CAST(-128 AS TINYINT))
CAST(l AS INT)
CAST(d AS INT)
CAST(t AS INT)
CAST(t AS DATE)
CAST(t AS BOOLEAN)
to_number('a', '99')
conv('zzzzzzzzzzzzzzzzzzzzz', 36, 10)
next_day(day, 'xx')
make_date(2024, 13, 1)
elt(9, 'a')
date_add(day, 'x')
chr(256)
space(-1)
substring(t, 0)
split_part(t, 'b', 0)
parse_url('x y', 'HOST')
url_decode('%')
unhex('zz')
from_csv('a', 'a INT')
get_json_object(t, '$.a')
to_xml(st)
from_xml('<a><b>1</b></a>', 'b INT')
xpath_int('<a>1</a>', 'a')
lower(x)
greatest(1, 2L, 1.5)
least('a', 1)
nullif(1, '1')
nvl(1, 'a')
i <=> '3'
CASE i WHEN '3' THEN 1 END
decode(i, 3, 'a', 'b')
if(true, 1, 'a')
bround(2.5)
log(0)
sqrt(-1)
ln(-1)
acosh(0)
factorial(21)
shiftleft(1, 33)
TRY_CAST('9' AS INT)
t COLLATE UTF8_LCASE = 'ABC'
hash(t COLLATE UTF8_LCASE)
map('a' COLLATE UTF8_LCASE, 1)
