{{- /* Made by scripts/chart.ts from the code. Change that, and run it again. */ -}}
{{- define "berth-operator.rules.cluster" -}}
- apiGroups:
    - ""
  resources:
    - namespaces
  verbs:
    - get
    - list
    - watch
    - create
    - patch
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
    - update
    - delete
{{- end -}}
{{- define "berth-operator.rules.management" -}}
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
    - patch
- apiGroups:
    - berth.dev
  resources:
    - environments
  verbs:
    - get
    - list
    - watch
    - patch
    - delete
- apiGroups:
    - berth.dev
  resources:
    - environments/status
    - environmenttemplates/status
    - sharedcomponentproviders/status
    - sharedcomponents/status
    - slices/status
  verbs:
    - patch
- apiGroups:
    - berth.dev
  resources:
    - environmenttemplates
    - sharedcomponentproviders
    - sharedcomponents
  verbs:
    - get
    - list
    - watch
    - patch
- apiGroups:
    - berth.dev
  resources:
    - slices
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
    - delete
- apiGroups:
    - events.k8s.io
  resources:
    - events
  verbs:
    - create
    - patch
{{- end -}}
{{- define "berth-operator.rules.shared" -}}
- apiGroups:
    - ""
  resources:
    - pods
  verbs:
    - list
- apiGroups:
    - batch
  resources:
    - jobs
  verbs:
    - get
    - list
    - watch
    - create
    - delete
{{- end -}}
