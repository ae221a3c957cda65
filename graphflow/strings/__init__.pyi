"""Strings (tf.strings)."""

from graphflow._core.ops.strings import as_string as as_string
from graphflow._core.ops.control_flow.printing import string_format as _format
from graphflow._core.ops.strings import string_join as _join
from graphflow._core.ops.strings import string_length as _length
from graphflow._core.ops.strings import lower as lower
from graphflow._core.ops.strings import reduce_join as reduce_join
from graphflow._core.ops.regular_expressions import regex_full_match as regex_full_match
from graphflow._core.ops.regular_expressions import regex_replace as regex_replace
from graphflow._core.ops.strings import split as split
from graphflow._core.ops.strings import string_strip as _strip
from graphflow._core.ops.strings import substr as substr
from graphflow._core.ops.hash_buckets import string_to_hash_bucket as _to_hash_bucket
from graphflow._core.ops.hash_buckets import string_to_hash_bucket_fast as _to_hash_bucket_fast
from graphflow._core.ops.hash_buckets import string_to_hash_bucket_strong as _to_hash_bucket_strong
from graphflow._core.ops.strings import string_to_number as _to_number
from graphflow._core.ops.strings import unicode_transcode as unicode_transcode
from graphflow._core.ops.strings import unsorted_segment_join as unsorted_segment_join
from graphflow._core.ops.strings import upper as upper

format = _format
join = _join
length = _length
strip = _strip
to_hash_bucket = _to_hash_bucket
to_hash_bucket_fast = _to_hash_bucket_fast
to_hash_bucket_strong = _to_hash_bucket_strong
to_number = _to_number
