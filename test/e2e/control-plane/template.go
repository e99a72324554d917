package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// template renders a chart as `helm template` does, with Helm's own loader and engine, and prints the documents in order
// of file. Arguments: release, namespace, folder of the chart, and perhaps a file of values.
func template(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("template needs a release, a namespace and a chart")
	}
	chart, err := loader.Load(args[2])
	if err != nil {
		return err
	}
	values := chartutil.Values{}
	if len(args) > 3 {
		if values, err = chartutil.ReadValuesFile(args[3]); err != nil {
			return err
		}
	}
	options := chartutil.ReleaseOptions{Name: args[0], Namespace: args[1], IsInstall: true, Revision: 1}
	given, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, given)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		// Text for people, which Helm shows after an installation.
		if !strings.HasSuffix(name, "NOTES.txt") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		if text := strings.TrimSpace(files[name]); text != "" {
			fmt.Fprintf(os.Stdout, "---\n# Source: %s\n%s\n", name, text)
		}
	}
	return nil
}
