/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reader looks at of PETSIRD 0.12's schema; written by scripts/yardl_seeds.py. */
#ifndef PETSIRD_SCHEMA_H
#define PETSIRD_SCHEMA_H

/* clang-format off */
static const char petsird_schema[] =
	"{\"protocol\":{\"name\":\"PETSIRD\",\"sequence\":[{\"name\":\"header\",\"type\":\"P.0\"},{\"name\""
	":\"timeBlocks\",\"type\":{\"stream\":{\"items\":\"P.1\"}}}]},\"types\":[{\"name\":\"3\",\"fields\""
	":[{\"name\":\"timeInterval\",\"type\":\"P.11\"},{\"name\":\"transform\",\"type\":\"P.10\"}]},{\"n"
	"ame\":\"6\",\"fields\":[{\"name\":\"edges\",\"type\":{\"array\":{\"items\":\"float32\",\"dimension"
	"s\":1}}}]},{\"name\":\"27\",\"fields\":[{\"name\":\"corners\",\"type\":{\"vector\":{\"items\":\"P."
	"29\",\"length\":8}}}]},{\"name\":\"26\",\"type\":{\"name\":\"P.28\",\"typeArguments\":[\"P.27\"]}"
	"},{\"name\":\"17\",\"fields\":[{\"name\":\"detectionBins\",\"type\":{\"vector\":{\"items\":\"P.22"
	"\",\"length\":2}}},{\"name\":\"tofIdx\",\"type\":\"uint32\"}]},{\"name\":\"29\",\"fields\":[{\"nam"
	"e\":\"c\",\"type\":{\"array\":{\"items\":\"float32\",\"dimensions\":[{\"length\":3}]}}}]},{\"nam"
	"e\":\"22\",\"type\":\"uint32\"},{\"name\":\"13\",\"type\":{\"vector\":{\"items\":\"float32\"}}},{\"n"
	"ame\":\"7\",\"fields\":[{\"name\":\"calibrationFactor\",\"type\":\"float32\"},{\"name\":\"detect"
	"ionBinEfficiencies\",\"type\":{\"vector\":{\"items\":\"P.13\"}}},{\"name\":\"modulePairSGIDL"
	"UT\",\"type\":{\"name\":\"P.8\",\"typeArguments\":[\"P.15\"]}},{\"name\":\"modulePairEfficienc"
	"iesVectors\",\"type\":{\"name\":\"P.8\",\"typeArguments\":[\"P.14\"]}}]},{\"name\":\"20\",\"fiel"
	"ds\":[{\"name\":\"detectingElements\",\"type\":\"P.25\"}]},{\"name\":\"4\",\"fields\":[{\"name\":"
	"\"timeInterval\",\"type\":\"P.11\"},{\"name\":\"promptEvents\",\"type\":{\"name\":\"P.8\",\"typeA"
	"rguments\":[\"P.12\"]}},{\"name\":\"delayedEvents\",\"type\":{\"name\":\"P.8\",\"typeArguments"
	"\":[\"P.12\"]}}]},{\"name\":\"5\",\"fields\":[{\"name\":\"timeInterval\",\"type\":\"P.11\"},{\"nam"
	"e\":\"transforms\",\"type\":{\"vector\":{\"items\":\"P.10\"}}}]},{\"name\":\"0\",\"fields\":[{\"na"
	"me\":\"scanner\",\"type\":\"P.2\"}]},{\"name\":\"12\",\"type\":{\"vector\":{\"items\":\"P.17\"}}},{"
	"\"name\":\"8\",\"typeParameters\":[\"T\"],\"type\":{\"vector\":{\"items\":{\"vector\":{\"items\":\""
	"T\"}}}}},{\"name\":\"19\",\"typeParameters\":[\"T\"],\"type\":{\"vector\":{\"items\":{\"vector\":"
	"{\"items\":\"T\"}}}}},{\"name\":\"18\",\"fields\":[{\"name\":\"values\",\"type\":{\"name\":\"P.23\","
	"\"typeArguments\":[\"float32\"]}},{\"name\":\"sgid\",\"type\":\"P.24\"}]},{\"name\":\"14\",\"type"
	"\":{\"vector\":{\"items\":\"P.18\"}}},{\"name\":\"15\",\"type\":{\"name\":\"P.19\",\"typeArguments"
	"\":[\"int32\"]}},{\"name\":\"23\",\"typeParameters\":[\"T\"],\"type\":{\"vector\":{\"items\":{\"ve"
	"ctor\":{\"items\":\"T\"}}}}},{\"name\":\"25\",\"type\":{\"name\":\"P.21\",\"typeArguments\":[\"P.2"
	"6\"]}},{\"name\":\"16\",\"type\":{\"name\":\"P.21\",\"typeArguments\":[\"P.20\"]}},{\"name\":\"21\""
	",\"typeParameters\":[\"T\"],\"fields\":[{\"name\":\"object\",\"type\":\"T\"},{\"name\":\"transfor"
	"ms\",\"type\":{\"vector\":{\"items\":\"P.10\"}}}]},{\"name\":\"10\",\"fields\":[{\"name\":\"matrix"
	"\",\"type\":{\"array\":{\"items\":\"float32\",\"dimensions\":[{\"length\":3},{\"length\":4}]}}}"
	"]},{\"name\":\"24\",\"type\":\"int32\"},{\"name\":\"9\",\"fields\":[{\"name\":\"replicatedModules"
	"\",\"type\":{\"vector\":{\"items\":\"P.16\"}}}]},{\"name\":\"2\",\"fields\":[{\"name\":\"modelName"
	"\",\"type\":\"string\"},{\"name\":\"scannerGeometry\",\"type\":\"P.9\"},{\"name\":\"tofBinEdges\""
	",\"type\":{\"name\":\"P.8\",\"typeArguments\":[\"P.6\"]}},{\"name\":\"tofResolution\",\"type\":{"
	"\"name\":\"P.8\",\"typeArguments\":[\"float32\"]}},{\"name\":\"eventEnergyBinEdges\",\"type\":"
	"{\"vector\":{\"items\":\"P.6\"}}},{\"name\":\"detectionEfficiencies\",\"type\":\"P.7\"}]},{\"na"
	"me\":\"28\",\"typeParameters\":[\"Shape\"],\"fields\":[{\"name\":\"shape\",\"type\":\"Shape\"}]},"
	"{\"name\":\"1\",\"type\":[{\"tag\":\"EventTimeBlock\",\"type\":\"P.4\"},{\"tag\":\"BedMovementTim"
	"eBlock\",\"type\":\"P.3\"},{\"tag\":\"GantryMovementTimeBlock\",\"type\":\"P.5\"}]},{\"name\":\""
	"11\",\"fields\":[{\"name\":\"start\",\"type\":\"uint32\"},{\"name\":\"stop\",\"type\":\"uint32\"}]}"
	"]}";
/* clang-format on */

#endif
