package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// generator makes templates that are mostly right and now and then wrong.
type generator struct {
	random *rand.Rand
	vars   []string
	loops  int
}

func (g *generator) pick(options ...string) string { return options[g.random.Intn(len(options))] }

var paths = []string{
	".Env.Name", ".Env.Slug", ".Values.text", ".Values.empty", ".Values.zero", ".Values.n", ".Values.half", ".Values.yes",
	".Values.no", ".Values.null", ".Values.list", ".Values.none", ".Values.map", ".Values.map.a", ".Values.words", ".Values",
	".Values.hostile", ".missing", ".Env.missing", ".Values.null.x", ".Values.text.x", ".", "$", "$.Env.Name", "$.Values.n",
	".Values.people", ".Values.unicode",
}

func (g *generator) literal() string {
	return g.pick(`"x"`, `"a b"`, "`raw`", "3", "0", "-1", "1.5", "'a'", "true", "false", "nil", `"a"`, `"\n\t\"é"`, "0x10", "1e3", "2.0")
}

func (g *generator) operand(depth int) string {
	switch n := g.random.Intn(10); {
	case n < 5:
		return g.pick(paths...)
	case n < 7:
		return g.literal()
	case n < 8 && len(g.vars) > 0:
		return g.pick(g.vars...)
	case depth > 0:
		return "(" + g.pipeline(depth-1) + ")" + g.pick("", "", "", ".a", ".Name")
	}
	return g.pick(paths...)
}

func (g *generator) command(depth int, piped bool) string {
	one := func() string { return " " + g.operand(depth) }
	arguments := func(count int) string {
		if piped {
			count--
		}
		if g.random.Intn(30) == 0 {
			count++
		}
		var out strings.Builder
		for range count {
			out.WriteString(one())
		}
		return out.String()
	}
	if !piped && g.random.Intn(3) == 0 {
		return g.operand(depth)
	}
	switch g.random.Intn(9) {
	case 0:
		return g.pick("lower", "upper", "b64enc", "sha256sum", "len", "not") + arguments(1)
	case 1:
		return g.pick("quote", "print", "and", "or") + arguments(1+g.random.Intn(3))
	case 2:
		return g.pick("eq", "ne", "lt", "le", "gt", "ge") + arguments(2)
	case 3:
		return "eq" + arguments(2+g.random.Intn(3))
	case 4:
		return "default" + arguments(2)
	case 5:
		return "index" + arguments(1+g.random.Intn(3))
	case 6:
		return fmt.Sprintf("trunc %d", g.random.Intn(9)-4) + arguments(1)
	case 7:
		return g.pick(`replace "a" "bb"`, `replace "" "-"`, `printf "%v|"`, `printf "%5s|"`, `printf "%d"`) + arguments(1)
	}
	return g.pick("shellQuote", "sqlIdent", "sqlLiteral", "urlEncode") + arguments(1)
}

func (g *generator) pipeline(depth int) string {
	out := g.command(depth, false)
	for g.random.Intn(3) == 0 {
		out += g.pick(" | ", "|") + g.command(depth, true)
	}
	return out
}

func (g *generator) action(body string) string {
	return g.pick("{{", "{{", "{{ ", "{{- ") + body + g.pick("}}", "}}", " }}", " -}}")
}

func (g *generator) block(depth int) string {
	scope := len(g.vars)
	keyword := g.pick("if", "if", "with", "range", "range")
	head := g.pipeline(1)
	if keyword == "range" {
		head = g.pick(".Values.list", ".Values.map", ".Values.words", ".Values.none", ".Values.n", ".Values.people", head)
		head = g.pick("", "$v := ", "$k, $v := ") + head
		if strings.HasPrefix(head, "$v") {
			g.vars = append(g.vars, "$v")
		} else if strings.HasPrefix(head, "$k") {
			g.vars = append(g.vars, "$k", "$v")
		}
		g.loops++
	} else if g.random.Intn(4) == 0 {
		head = "$w := " + head
		g.vars = append(g.vars, "$w")
	}
	out := g.action(keyword+" "+head) + g.list(depth-1)
	if keyword == "range" {
		g.loops--
	}
	if g.random.Intn(2) == 0 {
		if keyword != "range" && g.random.Intn(3) == 0 {
			out += g.action("else "+keyword+" "+g.pipeline(1)) + g.list(depth-1)
		}
		out += g.action("else") + g.list(depth-1)
	}
	g.vars = g.vars[:scope]
	return out + g.action("end")
}

func (g *generator) list(depth int) string {
	var out strings.Builder
	for range 1 + g.random.Intn(3) {
		switch n := g.random.Intn(12); {
		case n < 4:
			out.WriteString(g.pick("text", " \n ", "a\n", "", " é ", "}"))
		case n < 8 || depth <= 0:
			out.WriteString(g.action(g.pipeline(1)))
		case n == 8:
			name := g.pick("$x", "$y")
			assign := ":="
			for _, known := range g.vars {
				if known == name && g.random.Intn(2) == 0 {
					assign = "="
				}
			}
			out.WriteString(g.action(name + " " + assign + " " + g.pipeline(1)))
			g.vars = append(g.vars, name)
		case n == 9 && g.loops > 0:
			out.WriteString(g.action("if "+g.operand(0)) + g.action(g.pick("break", "continue")) + g.action("end"))
		case n == 10:
			out.WriteString(g.pick("{{/* note */}}", "{{- /* note */ -}}"))
		default:
			out.WriteString(g.block(depth))
		}
	}
	return out.String()
}

func generated(seed int64, count int) []string {
	g := &generator{random: rand.New(rand.NewSource(seed))}
	var out []string
	for range count {
		g.vars = nil
		out = append(out, g.list(3))
	}
	return out
}
