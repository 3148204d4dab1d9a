# Philips Vereos Digital PET, as a CASToR geometry, for its 18 modules are flat. From the white paper "Focusing on high
# performance" (Miller, Philips) and Zhang et al., J Nucl Med 59 (2018) 1031 (number 23040, 764 mm wide, 164 mm
# long). Time of flight has 310 ps FWHM: --tof-fwhm-ps 310.
modality: PET
scanner name: Philips Vereos
number of elements: 23040
number of layers: 1
scanner radius: 382
number of rsectors: 18
number of crystals transaxial: 32
number of crystals axial: 40
crystals size depth: 19
crystals size transaxial: 4
crystals size axial: 4
crystal gap transaxial: 0.1
crystal gap axial: 0.1
mean depth of interaction: 7
min angle difference: 60
