# The modular J-PET, as a CASToR geometry: 24 flat modules of 13 plastic strips, 24 x 6 x 500 mm, 7 mm apart, each cut
# into 100 pieces along z. From Moskal et al., Sci Adv 10 (2024) eadp2840, F. Tayefi Ardebili's thesis (Krakow 2024:
# 73.9 cm wide), and mraedler/J-PET_Python_tools on GitHub (middles of the strips at 381.86 mm).
modality: PET
scanner name: J-PET modular
number of elements: 31200
number of layers: 1
scanner radius: 369.86
number of rsectors: 24
number of crystals transaxial: 13
number of crystals axial: 100
crystals size depth: 24
crystals size transaxial: 6
crystals size axial: 5
crystal gap transaxial: 1
mean depth of interaction: 12
min angle difference: 40
