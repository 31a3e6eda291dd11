/** Metrics of one thing, updated from plain code. */
import { Context, Metric } from "effect"

export type Meter = (value: number) => void

/** The labels are merged into the context here, once, and not at every update. */
export const labelled = (
  context: Context.Context<never>,
  labels: Readonly<Record<string, string>>
): ((metric: Metric.Metric<number, unknown>) => Meter) => {
  const merged = { ...Context.get(context, Metric.CurrentMetricAttributes), ...labels }
  const series = Context.add(context, Metric.CurrentMetricAttributes, merged)
  return (metric) => (value) => metric.updateUnsafe(value, series)
}
