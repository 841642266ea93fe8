// Command validate prints why an API server of this module's version rejects a
// CustomResourceDefinition, including the cost of its rules. It exits with 1 if it does.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: validate FILE")
		os.Exit(2)
	}
	definition, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	refusals := validation.ValidateCustomResourceDefinition(context.Background(), definition)
	for _, refusal := range refusals {
		fmt.Println(refusal)
	}
	if len(refusals) > 0 {
		os.Exit(1)
	}
}

// read returns the CRD in a file as an API server has it when it is created.
func read(path string) (*apiextensions.CustomResourceDefinition, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var given apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &given); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	scheme.Default(&given)
	var definition apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&given, &definition, nil); err != nil {
		return nil, err
	}
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			definition.Status.StoredVersions = append(definition.Status.StoredVersions, version.Name)
		}
	}
	return &definition, nil
}
