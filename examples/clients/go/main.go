// Searches, mines and highlights. Arguments: the service's address, a phrase.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
)

// Hit is a span that paraphrases the phrase; its offsets are code points of the document.
type Hit struct {
	DocID  string  `json:"doc_id"`
	Start  int     `json:"start"`
	End    int     `json:"end"`
	Text   string  `json:"text"`
	Cosine float64 `json:"cosine"`
}

func (h Hit) String() string {
	return fmt.Sprintf("%g  %s:%d-%d  %s", h.Cosine, h.DocID, h.Start, h.End, h.Text)
}

// Problem is the error of an answer, or of a stream that went wrong after its first line.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Line is a line of a stream; one of its fields is there.
type Line struct {
	Hit     *Hit     `json:"hit"`
	Error   *Problem `json:"error"`
	Summary *struct {
		Hits int `json:"hits"`
	} `json:"summary"`
}

// ask sends a request; the caller closes the answer.
func ask(address string, body any) (io.ReadCloser, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest("POST", address, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key := os.Getenv("SLICE_OS_API_KEY"); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	var told struct {
		Error Problem `json:"error"`
	}
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil {
		return nil, errors.New(response.Status)
	}
	return nil, errors.New(told.Error.Message)
}

// answer sends a request and reads the whole answer.
func answer(address string, body, found any) error {
	content, err := ask(address, body)
	if err != nil {
		return err
	}
	defer content.Close()
	return json.NewDecoder(content).Decode(found)
}

// mine prints each hit as soon as it has arrived.
func mine(address string, body any) error {
	stream, err := ask(address, body)
	if err != nil {
		return err
	}
	defer stream.Close()
	for decoder := json.NewDecoder(stream); ; {
		var line Line
		switch err := decoder.Decode(&line); {
		case err != nil: // also at an end without a summary
			return fmt.Errorf("the stream broke off: %w", err)
		case line.Error != nil:
			return errors.New(line.Error.Message)
		case line.Hit != nil:
			fmt.Println(line.Hit)
		case line.Summary != nil:
			fmt.Println(line.Summary.Hits, "hits")
			return nil
		}
	}
}

func run(service, phrase string) error {
	fmt.Println("search")
	var found struct {
		Hits []Hit `json:"hits"`
	}
	if err := answer(service+"/search", map[string]any{"phrases": phrase, "top_k": 3}, &found); err != nil {
		return err
	}
	for _, hit := range found.Hits {
		fmt.Println(hit)
	}

	fmt.Println("mine")
	wanted := map[string]any{"phrases": phrase, "threshold": 0.5}
	if err := mine(service+"/mine", wanted); err != nil {
		return err
	}

	fmt.Println("highlights")
	var marked struct {
		Text string `json:"text"`
		Hits []Hit  `json:"hits"`
	}
	address := service + "/documents/" + url.PathEscape(found.Hits[0].DocID) + "/highlights"
	if err := answer(address, wanted, &marked); err != nil {
		return err
	}
	text, shown := []rune(marked.Text), 0 // offsets count code points, not bytes
	for _, hit := range marked.Hits {
		fmt.Printf("%s[%s]", string(text[shown:hit.Start]), string(text[hit.Start:hit.End]))
		shown = hit.End
	}
	fmt.Println(string(text[shown:]))
	return nil
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
