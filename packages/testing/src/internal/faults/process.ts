/**
 * The requests of one program, which may die. What a dead program asks stands still, as it does itself, until it is
 * buried; then it ends like an interrupted one, so that what remains of the program can be cleared away.
 */
import type { TransportRequest, TransportResponse } from "@berth/kube/Transport"
import * as Transport from "@berth/kube/Transport"
import { Deferred, Effect, Stream } from "effect"
import { around, type Certain, type Send } from "./apply.ts"
import * as Matching from "./matching.ts"
import type { Fault, Matcher, Rule, Sent } from "./model.ts"

/** How many answers are remembered for stale reads. */
const pathsMax = 1_000

/** The last answer to each question. */
const makeMemory = () => {
  const answers = new Map<string, { readonly status: number; readonly text: string; readonly type: string }>()
  const recall = (path: string): TransportResponse | undefined => {
    const found = answers.get(path)
    return found && Transport.response(found.status, found.text, { "content-type": found.type })
  }
  const remember = (path: string, { headers, status }: TransportResponse, text: string) => {
    answers.delete(path)
    answers.set(path, { status, text, type: headers["content-type"] ?? "application/json" })
    const [oldest] = answers.keys()
    if (answers.size > pathsMax && oldest !== undefined) answers.delete(oldest)
  }
  return { recall, remember }
}

/** Counts requests, and tells them apart. */
const makeBook = () => {
  const all: Array<Sent> = []
  const occurrences = new Map<string, number>()
  let requests = 0
  let writes = 0
  const next = ({ about }: TransportRequest): Omit<Sent, "faults"> => {
    const { name, namespace, resource, verb } = about
    const identity = [verb, resource, namespace, name].join(" ")
    const occurrence = (occurrences.get(identity) ?? 0) + 1
    occurrences.set(identity, occurrence)
    requests += 1
    if (Matching.isWrite(verb)) writes += 1
    const write = Matching.isWrite(verb) ? writes : undefined
    return { index: requests, write, verb, resource, namespace, name, occurrence }
  }
  return { all, next }
}

const isCertain = (fault: Fault): fault is Certain => fault._tag !== "Random"

export const make = (transport: Transport.Transport["Service"], first: ReadonlyArray<Rule>) => {
  const memory = makeMemory()
  const book = makeBook()
  const crashed = Deferred.makeUnsafe<Sent>()
  const buried = Deferred.makeUnsafe<void>()
  let rules = first.map(Matching.watchFor)
  let isDead = false

  const grave: Effect.Effect<never> = Effect.andThen(Deferred.await(buried), Effect.interrupt)
  /** Only the living pass. */
  const alive = Effect.suspend(() => (isDead ? grave : Effect.void))

  /** A program that died while it waited sees nothing of the answer. */
  const toTheLiving = ({ body, headers, status, text }: TransportResponse): TransportResponse => ({
    status,
    headers,
    text: Effect.tap(text, () => alive),
    body: Stream.tap(body, () => alive)
  })

  const send: Send = Effect.fnUntraced(function* (request) {
    yield* alive
    const answer = toTheLiving(yield* transport.request(request))
    yield* alive
    if (request.method !== "GET" || request.about.verb === "watch") return answer
    const text = yield* answer.text
    memory.remember(request.path, answer, text)
    return Transport.response(answer.status, text, answer.headers)
  })

  const request: Send = Effect.fnUntraced(function* (request) {
    yield* alive
    const known = book.next(request)
    const faults = rules
      .flatMap((rule) => rule(request))
      .flatMap((fault) => Matching.resolved(fault, known))
      .filter(isCertain)
    const sent: Sent = { ...known, faults: faults.map(({ _tag }) => _tag) }
    book.all.push(sent)
    const die = Effect.suspend(() => {
      isDead = true
      return Effect.andThen(Deferred.succeed(crashed, sent), grave)
    })
    const surroundings = { remembered: memory.recall, die }
    return yield* faults.reduceRight((next, fault) => around(fault, surroundings, next), send)(request)
  })

  return {
    transport: { request },
    inject: (...more: ReadonlyArray<Rule>) => Effect.sync(() => void rules.push(...more.map(Matching.watchFor))),
    mend: Effect.sync(() => void (rules = [])),
    requests: (on: Matcher = {}) => Effect.sync(() => book.all.filter((sent) => Matching.isAbout(on, sent))),
    forget: Effect.sync(() => void (book.all.length = 0)),
    crashed: Deferred.await(crashed),
    bury: Effect.asVoid(Deferred.succeed(buried, undefined))
  }
}
