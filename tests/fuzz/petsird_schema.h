/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reader looks at of PETSIRD 0.12's schema; written by scripts/yardl_seeds.py. */
#ifndef PETSIRD_SCHEMA_H
#define PETSIRD_SCHEMA_H

/* clang-format off */
static const char petsird_schema[] =
	"{\"protocol\":{\"name\":\"PETSIRD\",\"sequence\":[{\"name\":\"header\",\"type\":\"P.0\"},{\"name\""
	":\"timeBlocks\",\"type\":{\"stream\":{\"items\":\"P.1\"}}}]},\"types\":[{\"name\":\"3\",\"fields\""
	":[{\"name\":\"timeInterval\",\"type\":\"P.10\"},{\"name\":\"transform\",\"type\":\"P.9\"}]},{\"na"
	"me\":\"5\",\"fields\":[{\"name\":\"edges\",\"type\":{\"array\":{\"items\":\"float32\",\"dimensions"
	"\":1}}}]},{\"name\":\"26\",\"fields\":[{\"name\":\"corners\",\"type\":{\"vector\":{\"items\":\"P.2"
	"8\",\"length\":8}}}]},{\"name\":\"25\",\"type\":{\"name\":\"P.27\",\"typeArguments\":[\"P.26\"]}}"
	",{\"name\":\"16\",\"fields\":[{\"name\":\"detectionBins\",\"type\":{\"vector\":{\"items\":\"P.21\""
	",\"length\":2}}},{\"name\":\"tofIdx\",\"type\":\"uint32\"}]},{\"name\":\"28\",\"fields\":[{\"name"
	"\":\"c\",\"type\":{\"array\":{\"items\":\"float32\",\"dimensions\":[{\"length\":3}]}}}]},{\"name"
	"\":\"21\",\"type\":\"uint32\"},{\"name\":\"12\",\"type\":{\"vector\":{\"items\":\"float32\"}}},{\"na"
	"me\":\"6\",\"fields\":[{\"name\":\"calibrationFactor\",\"type\":\"float32\"},{\"name\":\"detecti"
	"onBinEfficiencies\",\"type\":{\"vector\":{\"items\":\"P.12\"}}},{\"name\":\"modulePairSGIDLU"
	"T\",\"type\":{\"name\":\"P.7\",\"typeArguments\":[\"P.14\"]}},{\"name\":\"modulePairEfficienci"
	"esVectors\",\"type\":{\"name\":\"P.7\",\"typeArguments\":[\"P.13\"]}}]},{\"name\":\"19\",\"field"
	"s\":[{\"name\":\"detectingElements\",\"type\":\"P.24\"}]},{\"name\":\"4\",\"fields\":[{\"name\":\""
	"timeInterval\",\"type\":\"P.10\"},{\"name\":\"promptEvents\",\"type\":{\"name\":\"P.7\",\"typeAr"
	"guments\":[\"P.11\"]}},{\"name\":\"delayedEvents\",\"type\":{\"name\":\"P.7\",\"typeArguments\""
	":[\"P.11\"]}}]},{\"name\":\"0\",\"fields\":[{\"name\":\"scanner\",\"type\":\"P.2\"}]},{\"name\":\"1"
	"1\",\"type\":{\"vector\":{\"items\":\"P.16\"}}},{\"name\":\"7\",\"typeParameters\":[\"T\"],\"type\""
	":{\"vector\":{\"items\":{\"vector\":{\"items\":\"T\"}}}}},{\"name\":\"18\",\"typeParameters\":[\""
	"T\"],\"type\":{\"vector\":{\"items\":{\"vector\":{\"items\":\"T\"}}}}},{\"name\":\"17\",\"fields\":"
	"[{\"name\":\"values\",\"type\":{\"name\":\"P.22\",\"typeArguments\":[\"float32\"]}},{\"name\":\"s"
	"gid\",\"type\":\"P.23\"}]},{\"name\":\"13\",\"type\":{\"vector\":{\"items\":\"P.17\"}}},{\"name\":\""
	"14\",\"type\":{\"name\":\"P.18\",\"typeArguments\":[\"int32\"]}},{\"name\":\"22\",\"typeParamete"
	"rs\":[\"T\"],\"type\":{\"vector\":{\"items\":{\"vector\":{\"items\":\"T\"}}}}},{\"name\":\"24\",\"ty"
	"pe\":{\"name\":\"P.20\",\"typeArguments\":[\"P.25\"]}},{\"name\":\"15\",\"type\":{\"name\":\"P.20\""
	",\"typeArguments\":[\"P.19\"]}},{\"name\":\"20\",\"typeParameters\":[\"T\"],\"fields\":[{\"name"
	"\":\"object\",\"type\":\"T\"},{\"name\":\"transforms\",\"type\":{\"vector\":{\"items\":\"P.9\"}}}]}"
	",{\"name\":\"9\",\"fields\":[{\"name\":\"matrix\",\"type\":{\"array\":{\"items\":\"float32\",\"dime"
	"nsions\":[{\"length\":3},{\"length\":4}]}}}]},{\"name\":\"23\",\"type\":\"int32\"},{\"name\":\"8"
	"\",\"fields\":[{\"name\":\"replicatedModules\",\"type\":{\"vector\":{\"items\":\"P.15\"}}}]},{\""
	"name\":\"2\",\"fields\":[{\"name\":\"modelName\",\"type\":\"string\"},{\"name\":\"scannerGeometr"
	"y\",\"type\":\"P.8\"},{\"name\":\"tofBinEdges\",\"type\":{\"name\":\"P.7\",\"typeArguments\":[\"P."
	"5\"]}},{\"name\":\"tofResolution\",\"type\":{\"name\":\"P.7\",\"typeArguments\":[\"float32\"]}}"
	",{\"name\":\"eventEnergyBinEdges\",\"type\":{\"vector\":{\"items\":\"P.5\"}}},{\"name\":\"detec"
	"tionEfficiencies\",\"type\":\"P.6\"}]},{\"name\":\"27\",\"typeParameters\":[\"Shape\"],\"field"
	"s\":[{\"name\":\"shape\",\"type\":\"Shape\"}]},{\"name\":\"1\",\"type\":[{\"tag\":\"EventTimeBlock"
	"\",\"type\":\"P.4\"},{\"tag\":\"BedMovementTimeBlock\",\"type\":\"P.3\"}]},{\"name\":\"10\",\"fiel"
	"ds\":[{\"name\":\"start\",\"type\":\"uint32\"},{\"name\":\"stop\",\"type\":\"uint32\"}]}]}";
/* clang-format on */

#endif
