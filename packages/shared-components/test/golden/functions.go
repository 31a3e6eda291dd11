package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"text/template"
)

// functions is what Berth adds to Go's own, and the two that it makes stricter: index and printf.
var functions = template.FuncMap{
	"index":      index,
	"printf":     printf,
	"default":    withDefault,
	"quote":      quote,
	"lower":      strings.ToLower,
	"upper":      strings.ToUpper,
	"trunc":      trunc,
	"replace":    func(from, to, text string) string { return strings.ReplaceAll(text, from, to) },
	"b64enc":     func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
	"sha256sum":  func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) },
	"shellQuote": scalar(shellQuote),
	"sqlIdent":   scalar(sqlIdent),
	"sqlLiteral": scalar(sqlLiteral),
	"urlEncode":  scalar(urlEncode),
}

var errMissing = errors.New("missing key")

// index is Go's, but a missing key of a map is an error.
func index(item any, keys ...any) (any, error) {
	if item == nil {
		return nil, errors.New("index of nil")
	}
	for _, key := range keys {
		switch value := item.(type) {
		case map[string]any:
			name, ok := key.(string)
			if !ok {
				return nil, errors.New("not a string")
			}
			if item, ok = value[name]; !ok {
				return nil, errMissing
			}
		case []any, string:
			at, ok := key.(int)
			list := reflect.ValueOf(value)
			if !ok || at < 0 || at >= list.Len() {
				return nil, errors.New("out of range")
			}
			item = list.Index(at).Interface()
			if b, ok := item.(uint8); ok {
				item = int(b)
			}
		default:
			return nil, errors.New("cannot index")
		}
	}
	return item, nil
}

var verbs = regexp.MustCompile(`%[-0]*[0-9]*.?`)
var known = regexp.MustCompile(`^%([-0]*[0-9]*[svdqt]|%)$`)

func printf(format string, args ...any) (string, error) {
	for _, verb := range verbs.FindAllString(format, -1) {
		if !known.MatchString(verb) {
			return "", errors.New("unknown verb")
		}
	}
	text := fmt.Sprintf(format, args...)
	if strings.Contains(text, "%!") {
		return "", errors.New("wrong arguments")
	}
	return text, nil
}

func withDefault(fallback, value any) any {
	if truth, _ := template.IsTrue(value); truth {
		return value
	}
	return fallback
}

func quote(args ...any) string {
	var out []string
	for _, arg := range args {
		if arg != nil {
			out = append(out, fmt.Sprintf("%q", fmt.Sprint(arg)))
		}
	}
	return strings.Join(out, " ")
}

func trunc(count int, text string) string {
	switch {
	case count < 0 && len(text)+count > 0:
		text = text[len(text)+count:]
	case count >= 0 && len(text) > count:
		text = text[:count]
	}
	return strings.ToValidUTF8(text, "")
}

func scalar(work func(string) (string, error)) func(any) (string, error) {
	return func(value any) (string, error) {
		switch value.(type) {
		case string, int, float64, bool:
			return work(fmt.Sprint(value))
		}
		return "", errors.New("not a scalar")
	}
}

func shellQuote(text string) (string, error) {
	if strings.ContainsRune(text, 0) {
		return "", errors.New("zero byte")
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'", nil
}

func sqlIdent(text string) (string, error) {
	if text == "" || len(text) > 63 || strings.ContainsRune(text, 0) {
		return "", errors.New("not an identifier")
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`, nil
}

func sqlLiteral(text string) (string, error) {
	if strings.ContainsRune(text, 0) {
		return "", errors.New("zero byte")
	}
	text = strings.ReplaceAll(text, "'", "''")
	if strings.Contains(text, `\`) {
		return " E'" + strings.ReplaceAll(text, `\`, `\\`) + "'", nil
	}
	return "'" + text + "'", nil
}

func urlEncode(text string) (string, error) {
	// QueryEscape keeps only RFC 3986's unreserved characters and writes a space as a plus.
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), nil
}
