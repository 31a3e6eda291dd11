{{- /* Made by scripts/chart.ts from the code. Change that, and run it again. */ -}}
{{- define "berth-db-provider.rules.cluster" -}}
- apiGroups:
    - db.berth.dev
  resources:
    - consumers
    - shards
  verbs:
    - get
    - list
    - watch
    - patch
- apiGroups:
    - db.berth.dev
  resources:
    - consumers/status
    - shards/status
  verbs:
    - patch
{{- end -}}
{{- define "berth-db-provider.rules.release" -}}
- apiGroups:
    - ""
  resources:
    - configmaps
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - delete
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - get
    - create
    - update
- apiGroups:
    - db.berth.dev
  resources:
    - databases
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - db.berth.dev
  resources:
    - databases/status
  verbs:
    - patch
- apiGroups:
    - events.k8s.io
  resources:
    - events
  verbs:
    - create
    - patch
{{- end -}}
{{- define "berth-db-provider.rules.default" -}}
- apiGroups:
    - events.k8s.io
  resources:
    - events
  verbs:
    - create
    - patch
{{- end -}}
{{- define "berth-db-provider.finalizer" -}}
db.berth.dev/database
{{- end -}}
{{- define "berth-db-provider.releaseAnnotation" -}}
db.berth.dev/release
{{- end -}}
