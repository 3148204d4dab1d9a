#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Small files, damaged or built to be large in memory, take no more than their result allows.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# ---- JSON beside an image: 12 MB of empty lists, which would become 500 ----
check "can't write the JSON" <<'END'
import numpy as np
np.save('x.npy', np.ones((4, 5, 6), 'f4'))
with open('x.npy.json', 'w') as f:
    f.write('{"verb": "recon", "Units": "Bq", "rest": [' + '[],' * 4000000 + '[]]}')
END
within 200 3 filter median:3 x.npy -o y.npy --like x.npy.json
err_has 'x.npy.json: its JSON holds more values than fit 128.0 MiB'
within 200 0 info x.npy
within 200 0 view x.npy -o x.png
within 200 0 report x.npy -o x.html
grep -q 'more values than fit' x.html || fail "the report does not say that the record was refused"
truncate -s 40000000 x.npy.json
within 40 3 filter median:3 x.npy -o y.npy --like x.npy.json
err_has 'x.npy.json: is larger than 32 MiB, the most for a file of JSON'

# A record of 1000 frames of 500 updates is still read, brackets in strings and all.
check "can't write the record" <<'END'
loglik = ',\n'.join(['          -12345678.90123456'] * 500)
frame = '{"from_s": 1, "[{,": "\\"[[", "loglik": [\n' + loglik + ']}'
open('record.json', 'w').write('{"verb": "recon", "parameters": {}, "command": "' + '[' * 1000000 +
                               '", "results": {"frames": [' + ','.join([frame] * 1000) + ']}}')
END
expect 3 filter median:3 x.npy -o y.npy --like record.json
err_has "record.json: record of 'isotome recon', not of 'isotome filter'"

# ---- MSOT: as many places as records times wavelengths ----
if grep -q 'no expat' <<<"$("$ISOTOME" info nothing.msot 2>&1)"; then
	echo "skipped: MSOT, which this build can't read"
else
	check "can't write the scan" <<'END'
n = 60000
with open('s.msot', 'w') as f:
    f.write('<A><SAMPLING-FREQUENCY>40e6</SAMPLING-FREQUENCY><RECORDED-LENGTH>2</RECORDED-LENGTH>'
            '<PROJECTION><VALUE>.01</VALUE><VALUE>0</VALUE><VALUE>0</VALUE></PROJECTION><WAVELENGTHS>')
    f.write(''.join(f'<WAVELENGTH>{500 + i}</WAVELENGTH>' for i in range(1000)) + '</WAVELENGTHS>')
    f.write('<DataModelScanFrame><WAVELENGTH>500</WAVELENGTH></DataModelScanFrame>' * n + '</A>')
open('s.bin', 'wb').write(bytes(4 * n))
END
	within 60 3 info s.msot
	err_has 'not every one of its 1000 wavelengths was recorded'
fi

# ---- HDF5: chunks of 200 MB, and numbers of 4 GB each ----
need_hdf5
cp "$TEST_DATA/oat/ipasc/tiny_ipasc.hdf5" tiny.hdf5
check "can't write the HDF5 files" <<'END'
import h5py, shutil, zlib
def replace(name, dataset, shape, limit, chunk):
    shutil.copy('tiny.hdf5', name)
    with h5py.File(name, 'r+') as f:
        del f[dataset]
        d = f.create_dataset(dataset, shape, '<f4', maxshape=limit, chunks=chunk,
                             compression='gzip')
        pack = zlib.compressobj(1)
        n, parts = 4, []
        for size in chunk:
            n *= size
        for at in range(0, n, 1 << 20):
            parts.append(pack.compress(bytes(min(1 << 20, n - at))))
        d.id.write_direct_chunk((0,) * len(shape), b''.join(parts) + pack.flush())
replace('traces.hdf5', 'binary_time_series_data', (12, 24, 2, 1), (12, 24, 2, None),
        (12, 24, 2, 86800))
replace('small.hdf5', 'binary_time_series_data', (12, 24, 2, 1), (12, 24, 2, None),
        (12, 24, 2, 1736))
replace('speed.hdf5', 'meta_data/speed_of_sound', (1,), (None,), (50000000,))
# traces of 4 million samples, 192 MB in all, in 48 chunks
shutil.copy('tiny.hdf5', 'long.hdf5')
with h5py.File('long.hdf5', 'r+') as f:
    del f['binary_time_series_data']
    d = f.create_dataset('binary_time_series_data', (12, 4000000), '<f4', chunks=(1, 1000000),
                         compression='gzip')
    packed = zlib.compress(bytes(4000000))
    for q in range(12):
        for k in range(4):
            d.id.write_direct_chunk((q, k * 1000000), packed)
# a type: class and flags of a float, its size of 8 bytes, offset 0 and number 64 of its bits
double = bytes.fromhex('11203f00' '08000000' '0000' '4000')
huge = bytes.fromhex('11203f00' '0800ffff' '0000' '4000')
whole = open('tiny.hdf5', 'rb').read()
assert double in whole
open('huge.hdf5', 'wb').write(whole.replace(double, huge))
END
within 100 3 info traces.hdf5
err_has 'stored in chunks of 190.7 MiB, at most 32.0 MiB are read'
within 100 3 info speed.hdf5
err_has 'speed_of_sound is stored in chunks of 190.7 MiB'
within 100 0 info small.hdf5
within 150 0 info long.hdf5
within 40 4 recon ubp -q --data long.hdf5 --speed 1.5 --grid 8 --voxel 1 --memory-limit 0.01 -o y.npy
within 40 4 recon ubp -q --data long.hdf5 --speed 1.5 --grid 8 --voxel 1 --memory-limit 0.01 -o y.npy \
	--dry-run
within 100 "$(size 4 3)" info huge.hdf5	# under the sanitizers the library dies of it
err_has 'huge.hdf5: '
