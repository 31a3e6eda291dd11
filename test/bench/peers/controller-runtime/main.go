// crbench is the controller-runtime side of the benchmark: one Widget controller, or a manager that only caches.
// It speaks to its driver by JSON lines on stdout: synced, leader, pass, gc (on SIGUSR2), stats (at the end).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// ---- the kind

type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}
type WidgetSpec struct {
	Value   int64  `json:"value"`
	Payload string `json:"payload,omitempty"`
}
type WidgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

func (w *Widget) DeepCopyObject() kruntime.Object { return w.DeepCopy() }
func (w *Widget) DeepCopy() *Widget {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if w.Status.Conditions != nil {
		out.Status.Conditions = make([]metav1.Condition, len(w.Status.Conditions))
		for i := range w.Status.Conditions {
			w.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
		}
	}
	return &out
}
func (l *WidgetList) DeepCopyObject() kruntime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Widget, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopy()
	}
	return &out
}

var widgetGV = schema.GroupVersion{Group: "bench.example.dev", Version: "v1"}

// ---- the reconciler

type reconciler struct {
	client.Client
	write string

	started, finished, writes, conflicts, failed atomic.Int64
	expect                                       int64 // reconciles in one pass over all objects; 0: passes are not reported
	mu                                           sync.Mutex
	passAt                                       time.Time
	passCPU                                      float64
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	n := r.started.Add(1)
	if r.expect > 0 {
		if n%r.expect == 1 {
			r.mu.Lock()
			r.passAt, r.passCPU = time.Now(), cpuSeconds()
			r.mu.Unlock()
		}
		defer func() {
			if m := r.finished.Add(1); m%r.expect == 0 {
				r.mu.Lock()
				d, c := time.Since(r.passAt), cpuSeconds()-r.passCPU
				r.mu.Unlock()
				emit("pass", map[string]any{"pass": m/r.expect - 1, "n": r.expect, "ms": ms(d), "cpu_ms": c * 1000,
					"per_s": float64(r.expect) / d.Seconds()})
			}
		}()
	}
	w := &Widget{}
	if err := r.Get(ctx, req.NamespacedName, w); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if w.Status.ObservedGeneration == w.Generation {
		return ctrl.Result{}, nil
	}
	base := w.DeepCopy()
	w.Status.ObservedGeneration = w.Generation
	meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Reconciled",
		Message: fmt.Sprintf("value is %d", w.Spec.Value), ObservedGeneration: w.Generation})
	r.writes.Add(1)
	var err error
	if r.write == "patch" {
		err = r.Status().Patch(ctx, w, client.MergeFrom(base))
	} else {
		err = r.Status().Update(ctx, w)
	}
	if apierrors.IsConflict(err) {
		r.conflicts.Add(1)
	} else if err != nil {
		r.failed.Add(1)
	}
	return ctrl.Result{}, err
}

// ---- many kinds of the same form, by name alone

type anyReconciler struct {
	client.Client
	gvk schema.GroupVersionKind
}

func (r *anyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w := ofKind(r.gvk)
	if err := r.Get(ctx, req.NamespacedName, w); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	seen, _, _ := unstructured.NestedInt64(w.Object, "status", "observedGeneration")
	if seen == w.GetGeneration() {
		return ctrl.Result{}, nil
	}
	must(unstructured.SetNestedField(w.Object, w.GetGeneration(), "status", "observedGeneration"))
	return ctrl.Result{}, r.Status().Update(ctx, w)
}

func ofKind(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// ---- the manager

func main() {
	concurrency := flag.Int("concurrency", 1, "MaxConcurrentReconciles")
	write := flag.String("write", "update", "how status is written: update or patch (merge patch)")
	kind := flag.String("cache", "widget", "widget (with its controller), kinds (ten, with a controller each), none, configmap, configmap-unstructured or configmap-metadata")
	strip := flag.Bool("strip", false, "drop managedFields before an object enters the cache")
	resync := flag.Duration("resync", 0, "cache SyncPeriod; 0 is the default (10 h)")
	expect := flag.Int64("expect", 0, "report each pass of this many reconciles")
	leader := flag.Bool("leader", false, "leader election")
	metricsAt := flag.String("metrics", "0", "metrics address, 0 is off")
	pq := flag.Bool("priority-queue", true, "controller-runtime's priority queue (its default) or client-go's queue")
	genOnly := flag.Bool("generation-predicate", false, "drop events that do not change the generation")
	flag.Parse()

	ctrl.SetLogger(zap.New())
	must(corev1.AddToScheme(scheme.Scheme))
	scheme.Scheme.AddKnownTypes(widgetGV, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme.Scheme, widgetGV)

	copts := cache.Options{}
	if *strip {
		copts.DefaultTransform = cache.TransformStripManagedFields()
	}
	if *resync > 0 {
		copts.SyncPeriod = resync
	}
	cfg := ctrl.GetConfigOrDie() // controller-runtime's default: QPS -1, no client-side limit
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme.Scheme, Cache: copts, Metrics: metricsserver.Options{BindAddress: *metricsAt},
		LeaderElection: *leader, LeaderElectionID: "crbench.bench.example.dev", LeaderElectionNamespace: "default",
		LeaderElectionReleaseOnCancel: true, Controller: config.Controller{UsePriorityQueue: pq},
	})
	must(err)

	r := &reconciler{Client: mgr.GetClient(), write: *write, expect: *expect}
	var watched []client.Object
	switch *kind {
	case "widget":
		watched = []client.Object{&Widget{}}
		b := ctrl.NewControllerManagedBy(mgr).WithOptions(controller.Options{MaxConcurrentReconciles: *concurrency})
		if *genOnly {
			b = b.For(&Widget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
		} else {
			b = b.For(&Widget{})
		}
		must(b.Complete(r))
	case "kinds":
		for i := range 10 {
			gvk := widgetGV.WithKind(fmt.Sprintf("Widget%d", i))
			watched = append(watched, ofKind(gvk))
			must(ctrl.NewControllerManagedBy(mgr).WithOptions(controller.Options{MaxConcurrentReconciles: *concurrency}).
				For(ofKind(gvk)).Complete(&anyReconciler{Client: mgr.GetClient(), gvk: gvk}))
		}
	case "configmap":
		watched = []client.Object{&corev1.ConfigMap{}}
	case "configmap-unstructured":
		watched = []client.Object{ofKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	case "configmap-metadata":
		p := &metav1.PartialObjectMetadata{}
		p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		watched = []client.Object{p}
	case "none":
	default:
		must(errors.New("unknown -cache"))
	}
	must(mgr.Add(everywhere{func(ctx context.Context) error {
		for _, object := range watched {
			if _, err := mgr.GetCache().GetInformer(ctx, object); err != nil {
				return err
			}
		}
		mgr.GetCache().WaitForCacheSync(ctx)
		emit("synced", nil)
		return nil
	}}))
	go func() { <-mgr.Elected(); emit("leader", nil) }()
	usr2 := make(chan os.Signal, 1)
	signal.Notify(usr2, syscall.SIGUSR2)
	go func() {
		for range usr2 {
			runtime.GC()
			runtime.GC()
			debug.FreeOSMemory()
			out := memory()
			out["requests"] = requests()
			emit("gc", out)
		}
	}()
	err = mgr.Start(ctrl.SetupSignalHandler())
	out := memory()
	out["reconciles"], out["writes"], out["conflicts"], out["failed"] = r.started.Load(), r.writes.Load(), r.conflicts.Load(), r.failed.Load()
	out["cpu_s"] = cpuSeconds()
	emit("stats", out)
	must(err)
}

// everywhere is a runnable that does not wait for leadership.
type everywhere struct{ manager.RunnableFunc }

func (everywhere) NeedLeaderElection() bool { return false }

var stdout sync.Mutex

func emit(event string, more map[string]any) {
	if more == nil {
		more = map[string]any{}
	}
	more["event"] = event
	b, _ := json.Marshal(more)
	stdout.Lock()
	defer stdout.Unlock()
	os.Stdout.Write(append(b, '\n'))
}
func memory() map[string]any {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return map[string]any{"heap_alloc": m.HeapAlloc, "heap_inuse": m.HeapInuse, "heap_objects": m.HeapObjects, "sys": m.Sys, "num_gc": m.NumGC}
}
func requests() (sum float64) {
	families, err := metrics.Registry.Gather()
	must(err)
	for _, family := range families {
		if family.GetName() == "rest_client_requests_total" {
			for _, metric := range family.GetMetric() {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}
func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "crbench:", err)
		os.Exit(1)
	}
}
