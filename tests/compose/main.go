// Loads a Compose file as `docker compose` does, and prints the services of a profile.
// Arguments: the file, profiles.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(
		[]string{os.Args[1]}, cli.WithOsEnv, cli.WithProfiles(os.Args[2:]), cli.WithResolvedPaths(true),
	)
	if err != nil {
		log.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range project.ServiceNames() {
		fmt.Println(name)
	}
}
