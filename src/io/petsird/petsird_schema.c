/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema that a PETSIRD file begins with: JSON, printed from a table of the format's types.

   The schema names records and fields as PETSIRD 0.12 does, which is part of the format: PETSIRD's own reader compares it
   letter by letter. The table has a line for each type:

       Name: field type, ...    a record                 *type          a list of any length
       Name = type              another name of a type   2*type         a list of 2
       Name | Type, ...         one of several types     [3,4]type      an array of 3 by 4
       Name # word, ...         a number: 0, 1, ...      [bin]type      an array whose one axis is called bin
       Name<T>                  with a type T to fill    [_]type        an array of one axis
       Name<type>               so filled                []type         an array of any axes
       ?type                    may be absent            ~type          a stream

   Names of PETSIRD's types begin with a capital letter, those of numbers, texts and times with a small one. */
#include "petsird.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const char sequence[] = "header Header, timeBlocks ~TimeBlock";

static const char *const types[] = {
	"Header: scanner ScannerInformation, exam ?ExamInformation",
	"TimeBlock | EventTimeBlock, ExternalSignalTimeBlock, BedMovementTimeBlock, GantryMovementTimeBlock, "
	"DeadTimeTimeBlock, SinglesHistogramTimeBlock",

	/* matrices of anything */
	"LowerTriangularMatrix<T> = **T",
	"LowerTriangularOrRectangularMatrix<T> = **T",
	"RectangularMatrix<T> = **T",

	/* solids in space */
	"Coordinate: c [3]float32",
	"RigidTransformation: matrix [3,4]float32",
	"BoxShape: corners 8*Coordinate",
	"AnnulusShape: innerRadius float32, outerRadius float32, thickness float32, angularRange 2*float32",
	"GeometricShape | BoxShape, AnnulusShape",
	"SolidVolume<Shape>: shape Shape, materialId uint32",
	"BoxSolidVolume = SolidVolume<BoxShape>",
	"GenericSolidVolume = SolidVolume<GeometricShape>",
	"ReplicatedObject<T>: object T, transforms *RigidTransformation",
	"ReplicatedBoxSolidVolume = ReplicatedObject<BoxSolidVolume>",
	"ReplicatedGenericSolidVolume = ReplicatedObject<GenericSolidVolume>",
	"ReplicatedDetectorModule = ReplicatedObject<DetectorModule>",

	/* the scanner */
	"DetectorModule: detectingElements ReplicatedBoxSolidVolume, nonDetectingElements "
	"*ReplicatedGenericSolidVolume",
	"ScannerGeometry: replicatedModules *ReplicatedDetectorModule, nonDetectingVolumes "
	"?*GenericSolidVolume",
	"Atom: massNumber uint32, atomicNumber uint32",
	"BulkMaterial: id uint32, name string, density float32, atoms *Atom, massFractions *float32",
	"BinEdges: edges [_]float32",
	"ScannerInformation: modelName string, scannerGeometry ScannerGeometry, bulkMaterials *BulkMaterial, "
	"gantryAlignment ?RigidTransformation, collimatorType string, tofBinEdges "
	"LowerTriangularMatrix<BinEdges>, tofResolution LowerTriangularMatrix<float32>, eventEnergyBinEdges "
	"*BinEdges, energyResolutionAt511 *float32, singlesHistogramLevel SinglesHistogramLevelType, "
	"moduleSinglesUnitIdxLUTs *ModuleSinglesUnitIdxLUT, singlesHistogramEnergyBinEdges *BinEdges, "
	"singleEventPolicy SingleEventPolicy, promptEventPolicy CoincidencePolicy, delayedEventPolicy "
	"CoincidencePolicy, tripleEventPolicy TripleEventPolicy, quadrupleEventPolicy QuadrupleEventPolicy, "
	"detectionEfficiencies DetectionEfficiencies",

	/* which events are stored */
	"SingleEventPolicy # none, all, rejectIfNotInCoincidence, other",
	"CoincidencePolicy # none, rejectHigherMultiples, multiplesAsAllCoincidences, "
	"multiplesAsSequentialCoincidences, other",
	"TripleEventPolicy # none, rejectHigherMultiples, other",
	"QuadrupleEventPolicy # none, rejectHigherMultiples, other",

	/* efficiencies */
	"SGID = int32",
	"DetectionBinEfficiencies = *float32",
	"ModulePairSGIDLUT = LowerTriangularOrRectangularMatrix<int32>",
	"ModulePairEfficiencies: values RectangularMatrix<float32>, sgid SGID",
	"ModulePairEfficienciesVector = *ModulePairEfficiencies",
	"DetectionEfficiencies: methodDescription string, calibrationFactor float32, "
	"detectionBinEfficiencies *DetectionBinEfficiencies, modulePairSGIDLUT "
	"LowerTriangularMatrix<ModulePairSGIDLUT>, modulePairEfficienciesVectors "
	"LowerTriangularMatrix<ModulePairEfficienciesVector>",

	/* the examination */
	"DICOMUID = string",
	"DICOMBasicCodeSequence: codeValue string, codeValueURN string, codingSchemeDesignator string, "
	"codingSchemeVersion string, codeMeaning string",
	"DICOMPatientInformation: patientID string, patientsSex string, patientsSize float32, patientsWeight "
	"float32, patientsBodyMassIndex float32",
	"DICOMPatientOrientationInformation: patientOrientationCodeSequence DICOMBasicCodeSequence, "
	"patientOrientationModifierCodeSequence DICOMBasicCodeSequence, "
	"patientGantryRelationshipCodeSequence DICOMBasicCodeSequence",
	"DICOMRadiopharmaceuticalInformation: radiopharmaceuticalVolume float32, "
	"radiopharmaceuticalStartDateTime datetime, radiopharmaceuticalStopDateTime datetime, "
	"radionuclideTotalDose float32, radiopharmaceuticalAdministrationEventUID DICOMUID, "
	"radiopharmaceuticalSpecificActivity float32, radiopharmaceuticalCodeSequence "
	"DICOMBasicCodeSequence, radionuclideCodeSequence DICOMBasicCodeSequence",
	"ExternalSignal: type ExternalSignalTypeEnum, description string, id uint32",
	"ExternalSignalTypeEnum # ecgTrace, ecgTrigger, respTrace, respTrigger, otherMotionSignal, "
	"otherMotionTrigger, externalSync, mrPulseStart, other",
	"ExamInformation: modality string, studyInstanceUID DICOMUID, seriesInstanceUID DICOMUID, "
	"sopInstanceUID DICOMUID, frameOfReferenceUID DICOMUID, startOfStudy datetime, startOfAcquisition "
	"?datetime, patient DICOMPatientInformation, patientOrientation DICOMPatientOrientationInformation, "
	"radiopharmaceuticals *DICOMRadiopharmaceuticalInformation, externalSignals *ExternalSignal",

	/* events */
	"DetectionBin = uint32",
	"SingleEvent: detectionBin DetectionBin, timeOffsetInTimeBlock uint32",
	"CoincidenceEvent: detectionBins 2*DetectionBin, tofIdx uint32",
	"TripleEvent: detectionBins 3*DetectionBin, tofIndices 2*uint32",
	"ListOfSingleEvents = *SingleEvent",
	"ListOfCoincidenceEvents = *CoincidenceEvent",
	"ListOfTripleEvents = *TripleEvent",
	"ListOfQuadrupleEvents = *TripleEvent", /* of triples, in PETSIRD 0.12 */

	/* what a time block holds */
	"TimeInterval: start uint32, stop uint32",
	"EventTimeBlock: timeInterval TimeInterval, singleEvents *ListOfSingleEvents, promptEvents "
	"LowerTriangularMatrix<ListOfCoincidenceEvents>, delayedEvents "
	"LowerTriangularMatrix<ListOfCoincidenceEvents>, tripleEvents ***ListOfTripleEvents, quadrupleEvents "
	"****ListOfQuadrupleEvents",
	"ExternalSignalTimeBlock: timeInterval TimeInterval, signalID uint32, signalValues *float32",
	"BedMovementTimeBlock: timeInterval TimeInterval, transform RigidTransformation",
	"GantryMovementTimeBlock: timeInterval TimeInterval, transforms *RigidTransformation",
	"DeadTimeTimeBlock: timeInterval TimeInterval, aliveTimeFractions AliveTimeFractions",
	"AliveTimeFractions: singlesAliveTimeFractions *SinglesAliveTimeFractions, "
	"modulePairAliveTimeFractions LowerTriangularMatrix<ModulePairAliveTimeFractions>",
	"SinglesAliveTimeFractions = [detectionBin]float32",
	"ModulePairAliveTimeFractions = []LowerTriangularOrRectangularMatrix<float32>",
	"SinglesHistogramTimeBlock: timeInterval TimeInterval, singlesPerSinglesUnitHistogram "
	"SinglesPerSinglesUnitHistogram, singlesPerDetectionBinHistogram SinglesPerDetectionBinHistogram",
	"SinglesHistogramLevelType # none, module, all",
	"SinglesUnitIdx = int32",
	"ModuleSinglesUnitIdxLUT = *SinglesUnitIdx",
	"SinglesPerSinglesUnitHistogram = **uint64",
	"SinglesPerDetectionBinHistogram = **uint64",
};

enum { TYPES = sizeof types / sizeof *types };

/* ---- printing: each function reads its part of a line at `at`, and leaves `at` behind it ---- */

struct printer {
	FILE *f;
	const char *at;
	const char *filled; /* T of Name<T>, `filled_n` letters; 0: the type has none */
	int filled_n;
};

static const char *take_word(struct printer *p, int *n)
{
	const char *word = p->at;

	while (isalnum((unsigned char)*p->at)) p->at++;
	*n = (int)(p->at - word);
	return word;
}

static void put_word(struct printer *p)
{
	int n;
	const char *word = take_word(p, &n);

	fprintf(p->f, "\"%.*s\"", n, word);
}

/* The name of a type, with PETSIRD before its own. */
static void put_type_name(struct printer *p)
{
	int n;
	const char *word = take_word(p, &n);
	bool filled = n == p->filled_n && strncmp(word, p->filled, (size_t)n) == 0;

	fprintf(p->f, "\"%s%.*s\"", isupper((unsigned char)*word) && !filled ? "PETSIRD." : "", n, word);
}

static void put_type(struct printer *p);

static void put_named(struct printer *p)
{
	if (p->at[strcspn(p->at, "<,>")] != '<') {
		put_type_name(p);
		return;
	}
	fputs("{\"name\":", p->f);
	put_type_name(p);
	fputs(",\"typeArguments\":[", p->f);
	p->at++;
	put_type(p);
	p->at++;
	fputs("]}", p->f);
}

static void put_list(struct printer *p, const char *kind)
{
	int length = 0;

	for (; isdigit((unsigned char)*p->at); p->at++) length = 10 * length + *p->at - '0';
	p->at++;
	fprintf(p->f, "{\"%s\":{\"items\":", kind);
	put_type(p);
	if (length) fprintf(p->f, ",\"length\":%d", length);
	fputs("}}", p->f);
}

static void put_axes(struct printer *p)
{
	if (*p->at == ']') return;
	fputs(",\"dimensions\":", p->f);
	if (*p->at == '_') {
		fputc('1', p->f);
		return;
	}
	for (char before = '['; *p->at != ']'; before = ',') {
		int n;
		const char *word;

		if (*p->at == ',') p->at++;
		word = take_word(p, &n);
		fprintf(p->f, isdigit((unsigned char)*word) ? "%c{\"length\":%.*s}" : "%c{\"name\":\"%.*s\"}",
		        before, n, word);
	}
	fputc(']', p->f);
}

/* The axes stand before the type here, and behind it in JSON. */
static void put_array(struct printer *p)
{
	struct printer axes = *p;

	axes.at++;
	p->at = strchr(p->at, ']') + 1;
	fputs("{\"array\":{\"items\":", p->f);
	put_type(p);
	put_axes(&axes);
	fputs("}}", p->f);
}

static void put_type(struct printer *p)
{
	if (*p->at == '?') {
		p->at++;
		fputs("[null,", p->f);
		put_type(p);
		fputc(']', p->f);
	} else if (*p->at == '[')
		put_array(p);
	else if (*p->at == '~')
		put_list(p, "stream");
	else if (*p->at == '*' || isdigit((unsigned char)*p->at))
		put_list(p, "vector");
	else
		put_named(p);
}

/* Item i of a list with a comma: of fields (:), types (|) or words (#). */
static void put_item(struct printer *p, char kind, int i)
{
	const char *word = p->at;

	fprintf(p->f, "{\"%s\":", kind == ':' ? "name" : kind == '|' ? "tag" : "symbol");
	put_word(p);
	if (kind == '#')
		fprintf(p->f, ",\"value\":%d}", i);
	else {
		p->at = kind == ':' ? p->at + 1 : word;
		fputs(",\"type\":", p->f);
		put_type(p);
		fputc('}', p->f);
	}
}

static void put_items(struct printer *p, char kind)
{
	fputc('[', p->f);
	for (int i = 0; *p->at; i++) {
		if (i) fputc(',', p->f);
		put_item(p, kind, i);
		if (*p->at) p->at += strlen(", ");
	}
	fputc(']', p->f);
}

/* A line of the table. */
static void put_line(FILE *f, const char *line)
{
	struct printer p = { .f = f, .at = line };

	fputs("{\"name\":", f);
	put_word(&p);
	if (*p.at == '<') {
		p.at++;
		p.filled = take_word(&p, &p.filled_n);
		fprintf(f, ",\"typeParameters\":[\"%.*s\"]", p.filled_n, p.filled);
		p.at++;
	}
	p.at += *p.at == ' ';
	char kind = *p.at;

	p.at += strlen(": ");
	fprintf(f, ",\"%s\":", kind == ':' ? "fields" : kind == '#' ? "values" : "type");
	if (kind == '=')
		put_type(&p);
	else
		put_items(&p, kind);
	fputc('}', f);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_schema(FILE *f)
{
	struct printer p = { .f = f, .at = sequence };
	const char *line[TYPES];

	memcpy(line, types, sizeof line);
	qsort(line, TYPES, sizeof *line, by_name);
	fputs("{\"protocol\":{\"name\":\"PETSIRD\",\"sequence\":", f);
	put_items(&p, ':');
	fputs("},\"types\":", f);
	for (int i = 0; i < TYPES; i++) {
		fputc(i ? ',' : '[', f);
		put_line(f, line[i]);
	}
	fputs("]}", f);
}

int petsird_schema(char **text)
{
	size_t size = 0;
	char *printed = NULL;
	FILE *f = open_memstream(&printed, &size);

	if (!f) return iso_fail_memory("PETSIRD schema", 1);
	put_schema(f);
	if (fclose(f) || !printed) {
		free(printed);
		return iso_fail_memory("PETSIRD schema", (int64_t)size);
	}
	*text = printed;
	return ISO_OK;
}
